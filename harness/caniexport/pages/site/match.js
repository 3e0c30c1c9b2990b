// The search of the static copy: caniexport.match.search, words, named_fix and errors function by function, under the same names, on
// everything that Python knows of errors and cases, as index.py wrote it.
window.makeSearch = data => {
  const {
    both_ends, casefold, clauses_of, constants, findall, head, is_kind, lstrip, match, operator_key, operator_keys, operator_name,
    mended, misspelt, read_attributes, read_error, read_mentions, read_of_extension, read_said, remembered, rstrip, speaks_alone, spelled, split, split_words, strip, unique,
  } = window.makeReader(data)
  const {
    alike, complete, error_answer, error_index, errors, explain, mentions, named_fix, operators, plain_causes, prose, words, search, seen, code_phrases, spelled_code, names,
    question: reading,
  } = constants
  const CONFIDENCE = data.confidence
  const PLAIN = 'plain'
  const every_operator = new Set(data.every_operator)
  const spell_code = window.makeSpeller({code_phrases, spelled_code, mentions, match, findall, strip, operator_key, every_operator})
  const round = value => Number(value.toFixed(4))
  const compare = (mine, theirs) => {
    const place = mine.findIndex((item, index) => item !== theirs[index])
    return place < 0 ? 0 : mine[place] < theirs[place] ? -1 : 1
  }

  // --- error_index.py
  const unshortened = texts => {
    let before = ''
    return texts.map(text => (before = before.slice(0, parseInt(text)) + text.slice(text.indexOf('|') + 1)))
  }
  const texts = unshortened(data.texts).map((text, number) => [text, ...data.kinds[data.kind_of_text[number]]])
  const entries = data.entries.map(([number, variant, own]) =>
    ({case: data.cases[number], variant, texts: [...data.common[number], ...own].map(text => texts[text])}))
  for (const [place, entry] of data.cases.entries()) {
    const [keys, first_key] = [operator_keys(entry.ops), operator_keys(entry.ops.slice(0, 1))]
    Object.assign(entry, {keys, first_key, own: data.own[place], claimed: data.claimed[place]})
  }
  const numbers = new Map(data.spoken.map((word, number) => [word, number]))
  const rarest = Math.max(1, ...data.rarity)
  const rarity = word => data.rarity[word] || rarest
  const _weight = found => [...found].reduce((sum, word) => sum + rarity(word), 0)
  // a word that no error has weighs as much as the rarest
  const numbered = found => [...found].map(word => numbers.get(word) ?? -1)
  const [told, lines] = [unshortened(data.told), unshortened(data.lines)]
  const said = data.said.map(([name, ...parts]) => {
    const [kinds, lines, patterns, others] = parts.slice(0, 4).map(part => part.map(number => told[number]))
    let last = 0
    const spoken = parts[4].map(step => (last += step))
    const clauses = unique([...patterns, ...others].flatMap(clauses_of))
    return {key: name && operator_key(name), name, kinds, lines, patterns, clauses, words: spoken, weight: _weight(spoken)}
  })
  const known = data.known.map(([number, line, flat, others]) => {
    const places = []
    for (let at = 0; at < flat.length; at += 3) {
      const [torch, exporter, opset, runtime] = data.places[flat[at + 1]]
      const [, ...elsewhere] = others.find(([entry]) => entry === flat[at]) ?? []
      places.push({entry: entries[flat[at]], torch, exporter, opset, runtime, place: flat[at + 1], cells: flat[at + 2], others: elsewhere})
    }
    return {item: said[number], text: lines[line], places}
  })
  const count_cases = told => {
    const found = new Map()
    for (const {item, places} of known) for (const name of told(item)) {
      if (!found.has(name)) found.set(name, new Set())
      for (const place of places) found.get(name).add(place.entry.case)
    }
    return found
  }
  const cases_by_line = count_cases(item => item.lines)
  const cases_with_pattern = count_cases(item => item.patterns)
  const cases_by_pattern = count_cases(item => item.patterns.map(pattern => `${pattern}\n${item.key}`))
  const telling_patterns = new Set([...cases_with_pattern.keys()].filter(speaks_alone))
  const [every, shares, failing, by_operator] = [new Map(), new Map(), new Map(), new Map()]
  const add = (counts, key, number) => counts.set(key, (counts.get(key) ?? 0) + number)
  for (const {item, places} of known) for (const {entry, cells} of places) {
    const {case: name} = entry.case
    if (item.key) [name, `${name}\n${item.key}`].forEach(key => add(failing, key, 1))
    if (entry.variant !== PLAIN) continue
    add(every, name, cells)
    for (const one of new Set([...item.patterns, ...item.kinds])) add(shares, `${name}\n${one}`, cells)
  }
  for (const entry of entries) {
    if (entry.variant !== PLAIN) continue
    for (const key of entry.case.keys) by_operator.set(key, [...by_operator.get(key) ?? [], entry.case])
  }
  const of_environment = new Set(known.flatMap(({places}) =>
    places.filter(place => !(place.torch || place.runtime)).map(place => place.entry.case.case)))
  const purity = (entry, told) => {
    const few = of_environment.has(entry.case) ? 0 : error_index._FEW_CELLS
    return (shares.get(`${entry.case}\n${told}`) ?? 0) / (((every.get(entry.case) ?? 0) + few) || 1)
  }
  const patterns_in = pattern =>
    [pattern, ...[...telling_patterns].filter(item => item !== pattern && pattern.includes(item))]
  const purity_in = reason => {
    if (!reason.text) return entry => purity(entry, reason.kind)
    const every_pattern = patterns_in(reason.pattern)
    const telling = every_pattern.filter(pattern =>
      reason.names_operator || (cases_with_pattern.get(pattern)?.size ?? 0) <= error_index._TOO_MANY)
    const patterns_for = entry => of_environment.has(entry.case) ? every_pattern : telling
    return entry => Math.max(0, ...patterns_for(entry).map(pattern => purity(entry, pattern)))
  }

  // --- sentences.py
  const parts_by_anchor = new Map()
  for (const each of data.sentences) {
    const words_of = split(each[0]).slice(1, 3).join(' ')
    parts_by_anchor.set(words_of, [...parts_by_anchor.get(words_of) ?? [], each])
  }
  const find_parts = text => {
    const words_in = split(casefold(text))
    const [pairs, line] = [words_in.slice(1).map((word, place) => `${words_in[place]} ${word}`), words_in.join(' ')]
    return unique(pairs).flatMap(pair => (parts_by_anchor.get(pair) ?? []).filter(([part]) => line.includes(part)))
  }

  // --- errors.py, complete.py and alike.py: a text against it
  const Lead = (entry, confidence, why, score, variant) =>
    ({case: entry, confidence, why, score, variant, torch: '', exporter: '', opset: null, runtime: '', text: ''})
  const match_error = said_as => {
    const text = mended(said_as)
    const as_read = _with_warned(_without_maker(read_error(text)), text)
    let read = _with_mentioned(text === said_as ? as_read : _with_right(as_read), text)
    let shared = _leads(read, text)
    if (!shared.length && !read.operators.length) {
      read = add_named(read, text)
      shared = [..._by_operator(read), ..._by_name(read), ..._by_phrase(read, text)]
    }
    if (read.reasons.length && !read.operators.length && !said.some(item => speaks_alike(read, item))) {
      read = add_mentioned(read, text)
      shared.push(..._by_operator(read))
    }
    const best = new Map()
    for (const lead of shared) {
      const before = best.get(lead.case)
      if (!before || compare(_preferred(lead), _preferred(before)) < 0) best.set(lead.case, lead)
    }
    const verbatim = _with_line(read)
    const opset = _named_opset(read)
    const _form = lead => `${lead.case.case}\n${lead.variant}\n${lead.confidence}`
    const placed = new Map(opset ? shared.filter(lead => lead.opset === opset).reverse().map(lead => [_form(lead), lead]) : [])
    const at_opset = [...best.values()].map(lead => ({...(placed.get(_form(lead)) ?? lead), why: lead.why, score: lead.score}))
    const found = _weighed(at_opset, read, text).sort(
      (mine, theirs) => compare(_rank(mine, verbatim), _rank(theirs, verbatim)))
    read = add_beside(read, text)
    const leads = _with_beside(found, _weighed(_by_beside(read), read, text))
    const alike = leads.filter(lead => lead.confidence === leads[0].confidence).length
    return {evidence: read, leads: leads.slice(0, errors._MOST_LEADS), cases: leads.length, alike}
  }
  const _with_line = read => new Set(read.reasons.filter(reason => !reason.warns).map(
    reason => cases_by_line.get(reason.exact)).filter(cases => cases?.size <= errors._MOST_CASES).flatMap(cases => [...cases]))
  const _leads = (read, text) => [..._by_errors(read), ..._by_operator(read), ..._by_called(read), ..._by_claims(read, text), ..._by_name(read)]
  const _with_mentioned = (read, text) => {
    if (read.operators.length || !read.reasons.length) return read
    const by_clause = clause => data.operator_by_clause[clause]
    const by_sentence = read.reasons.flatMap(reason => find_parts(reason.text)).flatMap(([, ops]) => ops)
    const told = by_sentence.length ? by_sentence : read.clauses.filter(by_clause).sort().map(by_clause)
    if (told.length) return {...read, operators: unique(told)}
    if (said.some(item => speaks_alike(read, item))) return read
    const found = findall(complete._MENTIONED, text).map(item => item[2] ?? item[1] ?? item[0])
    found.push(...found.flatMap(name => match(complete._VALUE, name)?.slice(1, 2) ?? []))
    found.push(...findall(mentions.OF_TORCH, read.reasons.map(reason => reason.line).join('\n')).map(item => item[1]))
    const named = found.filter(name => by_operator.has(operator_key(name))).map(spelled)
    const of_attribute = name => data.sentences.filter(([part]) => part === name).flatMap(([, ops]) => ops)
    const of_one = read_said(split(casefold(read.reasons.map(reason => reason.text).join('\n'))).join(' '))
    const called_so = named.length ? named : read_attributes(text).flatMap(of_attribute)
    return {...read, operators: unique(of_one.length ? of_one : called_so)}
  }
  const listed = new Set(data.listed)
  const is_known = key => listed.has(key) || by_operator.has(key)
  const _with_warned = (read, text) => {
    if (read.operators.length || !read.reasons.every(reason => reason.warns)) return read
    const of_torch = findall(mentions.OF_TORCH, text).map(item => item[1])
    const called = read.called.filter(name => of_torch.includes(name) && !complete._WORDS_TOO.includes(name))
    const known = called.filter(name => is_known(operator_key(name)))
    return {...read, operators: unique(known).map(spelled)}
  }
  const _without_maker = read => {
    const key = read.operators.length ? operator_key(read.operators[0]) : ''
    const made = read.reasons.filter(reason => match(complete._MADE_BY, reason.line))
    const is_known = made.some(reason => cases_by_pattern.has(`${reason.pattern}\n${key}`))
    return made.length && !is_known ? {...read, operators: []} : read
  }
  const _with_right = read => {
    const found = read.operators[0]?.startsWith('aten::') ? _meant(read.operators[0]) : ''
    return found ? {...read, operators: [found, ...read.operators]} : read
  }
  const _meant = written => {
    const key = operator_key(written)
    if (key.length < complete._LEAST_NAME || is_known(key)) return ''
    const pattern = misspelt(key)
    const near = [...by_operator.keys()].filter(known => pattern.test(known))
    return near.length === 1 ? by_operator.get(near[0]).flatMap(entry => entry.ops).find(op => operator_key(op) === near[0]) : ''
  }
  const _joined = lines_read => {
    const prose = casefold(lines_read).replace(complete._IN_PROSE, ending => complete._PROSE[ending])
    const said_in = split(prose.replaceAll('-', ' '))
    return [4, 3, 2].flatMap(many => said_in.slice(many - 1).map((_, start) => said_in.slice(start, start + many).join('_')))
  }
  const read_words = text => findall(prose._WORD, casefold(text)).flatMap(([word]) => [word, ...prose._ENDINGS.filter(
    ([ending]) => word.endsWith(ending) && word.length - ending.length >= prose._LEAST).map(
    ([ending, instead]) => word.slice(0, word.length - ending.length) + instead)])
  const _by_phrase = (read, text) => {
    const [, found] = (is_prose(read) && prose.PHRASES.find(([phrase]) => match(phrase, text))) || []
    const entry = entries.find(({case: {case: name}, variant}) => name === found && variant === PLAIN)
    return entry ? [Lead(entry.case, CONFIDENCE.SIMILAR, CONFIDENCE.SIMILAR, 0, PLAIN)] : []
  }
  const is_prose = read => read.reasons.length > 0 && !read.reasons.some(reason => reason.kind)
  const add_named = (read, text) => {
    const lines_read = is_prose(read) ? both_ends(text) : read.reasons.map(reason => reason.line).join('\n')
    const of_torch = findall(mentions.OF_TORCH, lines_read).map(item => is_known(operator_key(item[1])) ? item[1] : _meant(item[1]))
    const said = is_prose(read) ? read_words(lines_read) : findall(complete._WORD, lines_read).map(item => item[0])
    const every = [..._joined(lines_read), ...said]
    const of_code = findall(mentions.CODE_WORD, lines_read).map(item => casefold(item[0]))
    const [said_in, short] = [every, of_code].map(found => found.filter(word => !complete._WORDS_TOO.includes(word)))
    const found = [...of_torch.filter(Boolean), ...said_in.filter(word => by_operator.has(operator_key(word)))]
    found.push(...short.filter(word => is_known(operator_key(word))))
    return {...read, operators: unique(found).map(spelled)}
  }
  const add_mentioned = (read, text) => {
    const known = read_mentions(text, read).filter(name => is_known(operator_key(name)) || every_operator.has(operator_key(name)))
    return {...read, operators: unique(known.map(spelled))}
  }
  const node_keys = operator_keys(data.nodes)
  const add_beside = (read, text) => {
    const is_said = read.reasons.some(reason => reason.kind && !reason.warns && reason.names_operator)
    if (is_said || !read.reasons.length) return {...read, beside: []}
    const title = strip(text).split('\n')[0]
    const spoken = [..._joined(title), ...read_words(title)].filter(word => by_operator.has(operator_key(word)))
    const names_in = [...spoken, ...read_mentions(text, read), ...read.called.map(casefold)].filter(name => {
      const key = operator_key(name)
      return (is_known(key) || node_keys.has(key)) && !_is_word(name)
    })
    const [told, by_key] = [operator_keys(read.operators), new Map()]
    for (const op of [...read_of_extension(text), ...names_in.map(spelled)]) {
      const key = operator_key(op)
      if (!by_key.has(key)) by_key.set(key, op)
    }
    const beside = [...by_key].filter(([key]) => !told.has(key)).map(([, op]) => op)
    return {...read, beside: beside.slice(0, Math.max(complete._MOST_NAMED - told.size, 0))}
  }
  const _is_word = name => {
    const is_upper = name === name.toUpperCase() && name !== casefold(name)
    return [name, ...is_upper ? [casefold(name)] : []].some(each => complete._WORDS_TOO.includes(each)) || is_dtype(name)
  }
  const _by_beside = read => read.beside.flatMap((op, position) => (by_operator.get(operator_key(op)) ?? []).map(
    entry => Lead(entry, CONFIDENCE.WORDS, `it names ${op}`, 1 / (1 + position) / Math.sqrt(entry.ops.length), PLAIN)))
  const _with_beside = (found, beside) => {
    const [known_cases, best] = [new Set(found.map(lead => lead.case)), new Map()]
    const order = lead => [-lead.score, lead.case.case]
    for (const lead of [...beside].sort((mine, theirs) => compare(order(mine), order(theirs)))) {
      if (known_cases.has(lead.case) || best.has(lead.why)) continue
      best.set(lead.why, lead)
      known_cases.add(lead.case)
    }
    const others = unique(beside.map(lead => lead.why)).filter(why => best.has(why)).map(why => best.get(why))
    const third = found[errors._BESIDE_AT]
    const closer = third && others.length && found[0].confidence === CONFIDENCE.SIMILAR && others[0].score > third.score
    const at = closer ? errors._BESIDE_AT : found.length
    return [...found.slice(0, at), ...others.slice(0, 1), ...found.slice(at), ...others.slice(1)]
  }
  const CONFIDENCES = Object.values(CONFIDENCE)
  const SURE = [CONFIDENCE.EXACT, CONFIDENCE.CAUSE]
  const _rank = (lead, verbatim) => [CONFIDENCES.indexOf(lead.confidence),
    !SURE.includes(lead.confidence) && !verbatim.has(lead.case), -lead.score, lead.variant !== PLAIN, lead.case.case]
  const _preferred = lead => [CONFIDENCES.indexOf(lead.confidence), lead.variant !== PLAIN, -lead.score]
  const _by_errors = read => {
    const asked = operator_keys(read.operators)
    const first = read.operators.length ? operator_key(read.operators[0]) : ''
    const mine = numbered(read.words)
    const spoken = {words: new Set(mine), weight: _weight(mine)}
    const leads = new Map()
    const lead_of = item => {
      if (first && !asked.has(item.key) && !_whatever_operator(read, item)) return null
      const confidence = _compare(read, item, first, spoken)
      return confidence && {confidence, score: _likeness(spoken, item) + errors._RAISED * _raises_alike(read, item) + _rarely(read, item)}
    }
    for (const {item} of known) if (!leads.has(item)) leads.set(item, lead_of(item))
    const asked_opset = _named_opset(read)
    return known.filter(({item}) => leads.get(item)).flatMap(({item, text, places}) => places.map(at => {
      const {entry: {case: entry, variant}, cells, others, ...newest} = at
      const place = others.find(number => data.places[number][2] === asked_opset)
      const where = place === undefined ? newest : {...newest, ...named(place)}
      const {confidence, score} = leads.get(item)
      const shared = _as_far_as(confidence, entry, variant, first)
      return {...Lead(entry, shared, shared, score, variant), ...where, text}
    }))
  }
  const _named_opset = read =>
    findall(seen.NAMED_OPSET, read.reasons.map(reason => reason.line).join('\n')).map(item => Number(item[1]))[0]
  const named = place => {
    const [torch, exporter, opset] = data.places[place]
    return {torch, exporter, opset, place}
  }
  const _whatever_operator = (read, item) => read.reasons.some(reason =>
    (item.key === '' && reason.tells && !reason.names_operator && item.lines.includes(reason.exact))
    || (match(errors._OF_ONES_OWN, reason.line) && item.patterns.includes(reason.pattern)))
  const speaks_alike = (read, item) =>
    read.reasons.some(reason => same_line(reason, item) || (reason.tells && same_pattern(reason, item)))
  const _raises_alike = (read, item) => {
    const raised = read.reasons.filter(reason => !reason.warns)
    return (raised.length ? raised : read.reasons).some(reason => same_line(reason, item))
  }
  const _rarely = (read, item) => Math.max(0, ...(read.reasons.length > 1 ? read.reasons : []).map(reason => same_line(reason, item)).filter(Boolean).map(
    line => 1 / cases_by_line.get(line).size))
  const _as_far_as = (confidence, entry, variant, first) => {
    const about = !first || entry.first_key.has(first)
    if (variant !== PLAIN) return CONFIDENCE.SIMILAR
    return confidence === CONFIDENCE.EXACT && !about ? CONFIDENCE.CAUSE : confidence
  }
  const _compare = (read, item, first, spoken) => {
    const agrees = Boolean(first) && item.key === first
    const is_it = agrees && item.name === operator_name(read.operators[0])
    if (read.only_named) return read.kinds.some(kind => item.kinds.includes(kind)) ? CONFIDENCE.SIMILAR : null
    for (const reason of read.reasons) {
      const line = same_line(reason, item)
      if (line) {
        const of_one = cases_by_line.get(line)?.size === 1 && (!item.key || line === reason.exact)
        if (is_it && of_one && line === reason.exact && !_is_rule(read) && !reason.warns) return CONFIDENCE.CAUSE
        const told = is_it ? _is_rule(read) : !first && of_one && !match(errors._OF_NUMPY, line)
        return told && !reason.warns ? CONFIDENCE.EXACT : CONFIDENCE.SIMILAR
      }
      const pattern = reason.tells ? same_pattern(reason, item) : ''
      if (pattern) {
        const few = cases_by_pattern.get(`${pattern}\n${item.key}`).size <= errors._MOST_CASES
        return is_it && (few || _is_rule(read)) ? CONFIDENCE.CAUSE : CONFIDENCE.SIMILAR
      }
    }
    if (first && !agrees) return null
    if (item.clauses.some(clause => read.patterns.includes(clause))) return CONFIDENCE.SIMILAR
    return _likeness(spoken, item) >= errors._ALIKE ? CONFIDENCE.SIMILAR : null
  }
  const _is_rule = read =>
    /::| /.test(read.operators[0] ?? '') || read.reasons.some(reason => match(errors._OF_EXPORTER, reason.line))
  const same_line = (reason, item) => item.lines.find(line => {
    if (line === reason.exact) return true
    const [shorter, longer] = line.length <= reason.exact.length ? [line, reason.exact] : [reason.exact, line]
    const begins = longer.startsWith(shorter) || reason.exact.includes(line)
    return (shorter.length >= alike._LEAST_BEGINNING && begins) || (reason.alone && line.includes(reason.exact))
  })
  const same_pattern = (reason, item) => item.patterns.includes(reason.pattern)
    ? match(alike._SAYS, reason.pattern) ? reason.pattern : ''
    : item.patterns.find(pattern => telling_patterns.has(pattern) && reason.pattern.includes(pattern))
  const _by_operator = read => read.operators.flatMap((op, position) => {
    const key = operator_key(op)
    return (by_operator.get(key) ?? []).map(entry => {
      const share = (failing.get(`${entry.case}\n${key}`) ?? 0) / (failing.get(entry.case) || 1)
      const score = (1 + share) / (1 + position) / Math.sqrt(entry.ops.length)
      return Lead(entry, CONFIDENCE.OPERATOR, `${CONFIDENCE.OPERATOR}, ${op}`, score, PLAIN)
    })
  })
  const _by_called = read => {
    const kinds = read.reasons.filter(reason => reason.kind && !reason.warns).map(reason => reason.kind)
    return (read.operators.length ? [] : read.called).flatMap(name => by_operator.get(operator_key(name)) ?? []).filter(
      entry => kinds.some(kind => purity(entry, kind))).map(
      entry => Lead(entry, CONFIDENCE.SIMILAR, CONFIDENCE.SIMILAR, 0, PLAIN))
  }
  const _by_name = read => {
    const lines_read = read.reasons.map(reason => reason.line).join('\n')
    const names = read.operators.length ? [] : unique(findall(mentions.OF_TORCH, lines_read).map(item => item[1]))
    const named = names.map(name => data.cases.filter(entry => entry.case.split('-').includes(name)))
    return named.filter(entries => entries.length <= errors._MOST_CASES).flat().map(
      entry => Lead(entry, CONFIDENCE.SIMILAR, CONFIDENCE.SIMILAR, 0, PLAIN))
  }
  const _claims = (entry, text) => entry.claimed.some(message => casefold(text).includes(message))
  const _by_claims = (read, text) => read.operators.length ? [] : data.cases.filter(entry => _claims(entry, text)).map(
    entry => Lead(entry, CONFIDENCE.SIMILAR, CONFIDENCE.SIMILAR, 0, PLAIN))
  const is_long = reason => split(reason.exact).length >= errors._LONG_LINE
  const _slug = operator => casefold(operator.split('::').at(-1)).replaceAll('_', '-')
  const without_dimensions = name => name.replace(errors._DIMENSIONS, '')
  const _named_after = remembered(name => {
    const parts = name.split('-')
    return new Set(parts.flatMap((_, start) => parts.slice(start).map((_, length) =>
      without_dimensions(parts.slice(start, start + length + 1).join('')))))
  })
  const _weighed = (leads, read, text) => {
    const versions = findall(errors._VERSION, text).map(item => item[0])
    const lines_read = [...read.reasons.map(reason => reason.line), ...versions].join('\n')
    const numbers_in = findall(errors._NUMBER, lines_read).map(item => item[0])
    const asked = new Set(numbered([...split_words(text), ...numbers_in]))
    const purities = read.reasons.filter(reason => !reason.warns).map(purity_in)
    const called = operator_keys(read.called)
    const operator = read.operators[0] ?? ''
    const named_so = [_slug(operator).replaceAll('-', ''), operator_key(operator)].map(without_dimensions)
    const only = read.reasons.some(reason => !reason.warns && is_long(reason) && cases_by_line.get(reason.exact)?.size === 1)
    return leads.map(lead => {
      const {own, keys} = lead.case
      const about = _weight(own.filter(word => asked.has(word))) / (_weight(own) || 1)
      const pure = Math.max(0, ...purities.map(of => of(lead.case)))
      const sure = [CONFIDENCE.EXACT, CONFIDENCE.CAUSE].includes(lead.confidence)
      if (sure && !(read.operators.length || only) && about < errors._LEAST_ABOUT) {
        lead = {...lead, confidence: CONFIDENCE.SIMILAR, why: CONFIDENCE.SIMILAR}
      }
      const like = lead.confidence !== CONFIDENCE.SIMILAR ? lead.score : lead.score / (lead.variant === PLAIN ? 2 : 4)
      const calls = [...keys].some(key => called.has(key))
      const has_name = named_so.some(name => _named_after(lead.case.case).has(name))
      const titled = errors._TITLED * (operator.includes('::') && lead.case.title.includes(operator))
      const said = like + about + errors._PURE * pure + calls + _claims(lead.case, text) + titled
      return {...lead, score: round(said + (errors._HAS_ITS_NAME[lead.confidence] ?? 0) * has_name)}
    })
  }
  const _likeness = (mine, item) => {
    const both = item.words.filter(word => mine.words.has(word))
    if (both.length < errors.LEAST_WORDS) return 0
    const shared = _weight(both)
    const whole = shared / (mine.weight + item.weight - shared)
    return Math.max(whole, errors._OF_MINE * Math.min(shared / mine.weight, 1), errors._OF_THEIRS * shared / item.weight)
  }

  // --- words.py
  const find_asked = (query, listed) => {
    const parts = _parts(query, ','), found = _about_every(parts)
    if (!listed && _with_every(parts).length) return found
    const related = listed ? [] : _of_first(parts)
    return _once([...found, ...related.length ? related : _each_in_turn(parts, _about_every)])
  }
  const _parts = (query, signs = '') => {
    const parts = split([...casefold(query)].map(sign => signs.includes(sign) ? ' ' : sign).join(''))
    const joined = parts.join('_')
    return parts.length > 1 && is_operator(joined) ? [joined] : parts
  }
  const name_operators = parts => {
    const named = parts.filter(part => !words._JOINING.includes(part) && !is_dtype(part) && is_operator(part))
    const keys = named.map(operator_key)
    return named.filter((_, place) => keys.indexOf(keys[place]) === place)
  }
  const is_dtype = word => data.dtypes.includes(casefold(word).replace(/^torch\./, ''))
  const _of_first = parts => {
    const named = name_operators(parts)
    const together = named.length >= words.SEVERAL ? _about_every(named) : []
    if (!together.length) return []
    const others = unique(parts).filter(part => !named.includes(part))
    return _once([...together, ...others.flatMap(word => _about_every([named[0], word])), ..._about_every(named.slice(0, 1))])
  }
  const _once = leads => {
    const seen = new Set()
    return leads.filter(lead => lead && !seen.has(lead.case) && seen.add(lead.case))
  }
  const _about_every = parts => {
    const found = _with_every(parts)
    if (parts.length === 1 || !parts.some(is_operator)) return found
    const others = parts.filter(part => !is_argument(part))
    const said = others.length === parts.length ? found : _with_every(others)
    const is_told = lead => others.length === 1 || !lead.why.split(', ').some(what => words._ASIDE.includes(what) || what.startsWith(words._THEME))
    const about = new Set(said.filter(is_told).map(lead => lead.case))
    return found.filter(lead => about.has(lead.case))
  }
  const is_part = word => word.slice(1).includes('-') && find_asked(word, false).length > 0
  const add_missing = (found, every, missing) => {
    const named = name_operators(every.map(casefold))
    const first = missing.filter(is_part).flatMap(word => find_asked(word, false))
    const behind = missing.filter(word => !is_part(word)).flatMap(word => {
      const alone = find_asked(word, false)
      if (/[._]/.test(word) && alone.length <= words._FEW && !is_argument(word)) return alone
      return named.flatMap(operator => _about_every([operator, casefold(word)]))
    })
    const best = Math.max(0, ...found.map(lead => lead.score))
    return _once([...first, ...found, ...behind]).map(lead => found.includes(lead) ? lead : {...lead, score: Math.max(lead.score, best)})
  }
  const _each_in_turn = (every, find) => {
    const parts = every.filter(part => !words._JOINING.includes(part))
    const named = name_operators(parts)
    if (named.length < words.SEVERAL) return []
    const others = parts.filter(part => !named.includes(part))
    const narrowed = named.map(part => find([part, ...others]))
    const each = narrowed.every(leads => leads.length) ? narrowed : named.map(part => find([part]))
    const turns = Array.from({length: Math.max(...each.map(leads => leads.length))}, (_, at) => each.map(leads => leads[at]))
    return _once(turns.flat())
  }
  let named_operators = null
  const is_operator = word => {
    named_operators ??= new Set(entries.flatMap(({texts}) =>
      texts.filter(([, , what]) => what.startsWith(words._OPERATOR)).map(([text]) => text)))
    return named_operators.has(word) || named_operators.has(operator_key(word))
  }
  const _with_every = named => {
    const parts = named.map(word => _known_form(word, named.length === 1)).map(part => [part, operator_key(part), is_torch_name(part) && torchs_of_cases().has(operator_key(part))])
    const best = new Map()
    for (const {case: entry, variant, texts} of parts.length ? entries : []) {
      const found = parts.map(([part, key, is_torchs]) => _weightiest(part, key, is_torchs, texts))
      if (!found.every(Boolean) || found.every(([, what]) => what === words._RECORD)) continue
      const sum = found.reduce((sum, [weight]) => sum + weight, 0)
      const score = round(sum / found.length + (variant === PLAIN ? words._FAILING : 0))
      const why = unique(found.sort(compare).reverse().map(([, what]) => what)).join(', ')
      if (!(best.get(entry)?.score >= score)) best.set(entry, Lead(entry, CONFIDENCE.WORDS, why, score, variant))
    }
    const keys = parts.map(([, key]) => key)
    return [...best.values()].sort((mine, theirs) => compare(_order(mine, keys), _order(theirs, keys)))
  }
  let told_of_cases = null
  const said_of = () => {
    if (told_of_cases) return told_of_cases
    told_of_cases = new Map()
    for (const {case: entry, variant, texts} of entries) {
      const [note] = texts.find(([, , what]) => what === words._ASIDE[1]) ?? ['']
      const mine = [entry.case, entry.title, entry.theme, ...variant === PLAIN ? [] : [variant, note]]
      told_of_cases.set(entry.case, new Set([...told_of_cases.get(entry.case) ?? [], ..._stems(mine.join(' '))]))
    }
    return told_of_cases
  }
  const says = (name, word) => {
    const mine = [..._stems(word)]
    return [...word].length > 1 && mine.length > 0 && mine.every(stem => said_of().get(name).has(stem))
  }
  const _order = ({score, case: {case: name}}, keys) => {
    const parts = name.split('-')
    return [-score, Number(keys.some(key => !parts.join('').includes(key))), parts.length, name]
  }
  const alike_dtypes = remembered(word => new Set(data.dtypes.filter(other => data.dtypes_of[other].some(dtype => data.dtypes_of[word].includes(dtype)))))
  const _known_form = (word, is_alone) => {
    const is_switch = is_alone && is_argument(word)
    const stem = is_switch ? word.split('=')[0] : word.replace(words._ENDING, '')
    if (stem === word || !(is_switch || /^\p{L}+$/u.test(word)) || is_operator(word)) return word
    return entries.some(({texts}) => texts.some(([text]) => text.includes(word))) ? word : stem
  }
  const is_torch_name = word => match(operators._TORCHS, word)?.[0] === word
  const torchs_of_cases = remembered(() => new Set(entries.flatMap(({case: {ops}}) => ops.filter(op => op.includes('::')).map(operator_key))))
  const _stands_in = (part, text) => text.split(part).slice(1).some(rest => !new RegExp(`^(?:${words._GOES_ON.source})`, 'u').test(rest))
  const _begins_in = (part, text) => {
    const rests = text.split(part)
    return rests.length > 1 && rests.slice(0, -1).some(rest => !/[\p{L}\p{N}]$/u.test(rest))
  }
  const _is_short = part => [...part].length <= words._SHORT && /^\p{L}+$/u.test(part)
  const _has = (part, is_torchs, text) => is_torchs ? _stands_in(part, text) : _is_short(part) ? _begins_in(part, text) : text.includes(part)
  const is_there = (part, is_torchs, text) => _has(part, is_torchs, text)
    || (data.dtypes.includes(part) && findall(words._TOKEN, text).some(([token]) => alike_dtypes(part).has(token)))
  const _weightiest = (part, key, is_torchs, texts) => {
    const found = texts.filter(([text]) => is_there(part, is_torchs, text)).map(([text, weight, what]) =>
      [weight * (text === part ? words._WHOLE : text.startsWith(part) ? words._BEGINS : 1), what])
    const is_it = ([text, , what]) => text === key && (!is_torchs || what.includes('::'))
    const named = texts.filter(is_it).map(([, weight, what]) => [weight * words._WHOLE, what])
    return [...found, ...named].sort(compare).at(-1)
  }

  // --- question.py
  const taker = text => ({
    left: text,
    take(pattern) {
      const found = findall(pattern, this.left)
      if (found.length) this.left = this.left.replace(pattern, (...place) => ` ${place.at(-1)?.kind ?? ''} `)
      return found
    },
  })
  const NOTHING_ASKED = {
    words: '', listed: false, own: false, fix: '', asks: '', kind: 'each', releases: [], opset: '', exporter: '', runtime: '', named: false, others: [], status: '', to_opset: '',
  }
  const read_question = written => {
    const query = spell_code(written)
    if (split(query).length === 1 && !/\p{Nd}/u.test(query)) {
      return match(reading.OPERATORS, query)?.[0] === strip(query) ? {...NOTHING_ASKED, asks: 'matrix'} : null
    }
    const only_complains = match(reading._COMPLAINS, query) && !match(reading._ASKS, query)
    if (only_complains && !match(reading.OPERATORS, query)) return null
    const text = taker(query)
    const own = text.take(reading._OWN).length > 0
    text.take(reading._NUMBERS)
    const runtime = text.take(reading._RUNTIME).map(({groups}) => `${_runtime(groups.name)}==${groups.version}`)
    if (!match(reading.PROVIDER, query)) runtime.push(...text.take(reading._RUNTIME_ALONE).map(({groups}) => casefold(groups.name)))
    const others = text.take(reading._OTHER).map(item => split(item[0]).join(' '))
    const named_opsets = text.take(reading._OPSET).map(item => _opset(item.groups))
    const is_switched = Boolean(match(reading._SWITCH, text.left))
    const needed = reading._NEED_SETTING.map(each => match(each, query)).find(Boolean)
    const read_exporter = _exporter(text)
    const named_exporter = read_exporter === 'dynamo' && query.includes('dynamic_axes') ? reading._BY_ANY_DYNAMO : read_exporter
    const exporter = needed && !needed.groups.opset ? '' : named_exporter
    const is_of_release = text.take(reading._ALERTS).length > 0
    const [kind, releases, named] = _releases(text, query)
    const opsets = named_opsets.length || !releases.length ? named_opsets : text.take(reading._BARE_OPSET).map(item => item.groups.low)
    text.take(reading._WHERE)
    const status = match(reading._ASKS, query) && text.take(reading._WRONG).length ? reading._MISMATCH : ''
    if (status) text.take(reading._BESIDE_WRONG)
    const is_replaced = releases.length > 0 && _is_replaced(query)
    const intention = _intention(text, kind, releases) || (status ? 'matrix' : is_replaced ? 'workarounds' : '')
    if (intention === 'workarounds' && kind === 'each' && opsets.every(opset => /^\d+$/.test(opset))) opsets.sort((one, other) => other - one)
    const words = _words_of(text.left)
    const of_releases = is_of_release && !words && !releases.length ? 'alerts' : intention
    const asks = needed && of_releases === 'workarounds' ? '' : of_releases
    const is_named = named || opsets.length > 0 || runtime.length > 0 || is_switched
    const is_provider = match(reading.PROVIDER, query)
    const is_looked_for = words && (is_provider || !match(reading._COMPLAINS, query) || match(reading._SHORT_ASKED, written))
    const is_elsewhere = match(reading._ELSEWHERE, query) && split(written).length <= reading.SHORT
    const is_listed = exporter && !words && match(reading.OPERATORS, query)
    const is_asked = is_listed || (is_looked_for && (is_provider || match(reading._ASKS, query) || needed || is_elsewhere || _is_short_question(written, query, exporter)))
    return (only_complains ? is_listed : is_named || releases.length || asks || is_asked) ? {
      words, asks, kind: asks === 'matrix' && kind === 'move' ? 'range' : kind, releases, opset: opsets[0] ?? '', exporter, runtime: runtime[0] ?? '',
      named: is_named, listed: false, own, fix: '', others, status, to_opset: kind === 'move' ? opsets[1] ?? '' : '',
    } : null
  }
  const _is_short_question = (written, query, exporter) => {
    const is_code = written !== query
    const is_named = match(reading._FUNCTION, written) || (is_code && exporter)
    const is_known = is_named || is_code || (exporter && _names_operator(query))
    return Boolean(is_known) && split(written).length <= reading.SHORT && Boolean(is_named || !match(reading.OF_A_LINE, written))
  }
  const _names_operator = query =>
    split(query).map(word => rstrip(lstrip(word, reading._OUTER), reading._OUTER)).some(word => word && !mentions.ENGLISH.includes(word) && _is_operator(word))
  const has_sentence = query => Boolean(match(reading._PROSE, query) || match(reading._ASKING, query))
  const is_long_question = query => {
    const is_asking = Boolean(match(reading._ASKING, query))
    const question = [...query].length <= reading._LONGEST && (is_asking || _is_replaced(query)) ? read_question(query) : null
    if (!question || !(is_asking || question.releases.length)) return false
    if (match(reading._COMPLAINS, query)) return question.asks === 'workarounds' && question.releases.length > 0 && !query.includes('\n')
    return question.releases.length > 0 || Boolean(question.asks && !query.includes('\n'))
  }
  const is_sentence = query => Boolean(match(reading._ASKS, query)) && !match(reading._COMPLAINS, query)
  const read_plain = query => {
    const words = match(reading._COMPLAINS, query) ? '' : _words_of(spell_code(query))
    return words ? {...NOTHING_ASKED, words} : null
  }
  const _runtime = name => {
    const folded = casefold(name)
    return folded.startsWith('o') && folded !== 'openvino' ? 'onnxruntime' : folded
  }
  const _opset = ({least, low, high}) => least ? `>=${low}` : high ? `${low}..${high}` : low
  const _parts_of_name = name => name.split(',').map(part => reading._SEVERAL[part] ?? part).join().split(',')
  const _exporter = text => {
    const [meant, named] = [reading._NOT_MEANT, reading._EXPORTERS].map(each => each.filter(([pattern]) => text.take(pattern).length).map(([, name]) => name))
    if (!meant.length || !named.length) return unique(named.length ? named : meant).join()
    const left = meant.map(_parts_of_name), kept = named.flatMap(_parts_of_name).filter(part => left.every(parts => parts.includes(part)))
    return unique(kept.length ? kept : named).join()
  }
  const _is_replaced = query => Boolean(match(reading.OWNER, query)) && reading._REPLACING.some(each => match(each, query))
  const _releases = (text, query) => {
    for (const [pattern, kind] of reading._BETWEEN) {
      const [first] = text.take(pattern)
      if (first) return [kind, [first.groups.low, first.groups.high], true]
    }
    const [before] = text.take(reading._BEFORE)
    if (before) return ['each', [`<${before.groups.one ?? before.groups.two}`], true]
    const [after] = text.take(reading._AFTER)
    if (after) return ['each', [`>${after.groups.one}`], true]
    const [newest] = text.take(reading._TO_NEWEST)
    if (newest) return ['move', [newest.groups.one, ''], true]
    const one = pattern => text.take(pattern).map(item => item.groups.one)
    const [source, target, named] = [one(reading._FROM), one(reading._TO), one(reading._NAMED_RELEASE)]
    const single = unique([...named, ...one(reading._BARE_RELEASE)])
    const each = unique([...source, ...single])
    if (!target.length && [...source, ...single].length > 1 && _asks_for_one(text, query)) {
      return ['each', [each.sort((one, other) => compare(_version(other), _version(one)))[0]], source.length + named.length > 0]
    }
    const is_told = [reading._UPGRADE, reading._BREAKS, reading._MATRIX].some(each => match(each, query)) || !match(reading._ASKS, query)
    if (source.length && !(target.length || single.length || is_told)) return ['each', source, true]
    if (source.length || target.length) return ['move', [source[0] ?? single[0] ?? '', target[0] ?? single[0] ?? ''], true]
    if (text.take(reading._BREAKS).length && single.length === 1 && !match(reading._WORKAROUNDS, text.left)) return ['move', ['', single[0]], true]
    return single.length > 1 ? ['move', [single[0], single.at(-1)], true] : ['each', single, named.length > 0]
  }
  const _asks_for_one = (text, query) =>
    Boolean(match(reading._WORKAROUNDS, text.left)) && !match(reading._LISTS, query) && (_is_replaced(query) || Boolean(match(reading._PAST, query)))
  const _version = release => [...release.matchAll(/\d+/g)].slice(0, 3).map(item => Number(item[0]))
  const _intention = (text, kind, releases) => {
    const [workarounds, upgrade, matrix] = [reading._WORKAROUNDS, reading._UPGRADE, reading._MATRIX].map(each => text.take(each).length)
    if (kind === 'move') return matrix && !upgrade && releases[0] ? 'matrix' : 'upgrade'
    return workarounds ? 'workarounds' : upgrade ? 'upgrade' : matrix ? 'matrix' : ''
  }
  const _words_of = left => {
    const given = []
    for (const pattern of reading._ARGUMENTS) {
      given.push(...findall(pattern, left).flatMap(_argument))
      left = left.replace(pattern, ' ')
    }
    given.push(...findall(reading._BY_PLACE, left).flatMap(({groups}) => [groups.one, groups.two, groups.dtype].filter(Boolean)))
    left = left.replace(reading._BY_PLACE, ' ')
    const written = left.replace(reading._RIGHT, ' ').replace(reading._AXES, ' $<axes>D ')
    const every = split(written).map(word => rstrip(lstrip(word, `${reading._OUTER}.`), `${reading._OUTER}.`).replace(reading._BEHIND, ''))
    const told = every.filter(word => !reading._SIGNS.includes(word) && !reading._FILLING.includes(casefold(word)))
    return [...told, ...unique(given)].join(' ')
  }
  const _argument = ({groups}) => {
    if (reading._OF_EXPORT.includes(groups.name)) return []
    if (groups.name === 'out') return ['out=']
    const text = groups.one ?? groups.two ?? groups.bare
    return [text ?? `${groups.name}=${casefold(groups.switch ?? '')}`]
  }
  const read_fix_parts = query =>
    new Set(reading._FIX_PARTS.flatMap(pattern => findall(pattern, spell_code(query))).flatMap(item => split(_words_of(item.groups.fix))))

  // --- named_fix.py
  const name_fix = (said, kept, found) => {
    const operators = name_operators(said.map(casefold))
    const apart = operators.filter(operator => !mentions.ENGLISH.includes(operator))
    const [name, meant] = (apart.length ? apart : operators).map(operator => _of_operator(operator, said, kept))
      .reduce((best, one) => one[1].length > best[1].length ? one : best, ['', []])
    if (name) return [name, meant]
    const named = found.find(lead => said.includes(lead.case.case))?.case.case ?? ''
    const of_cases = new Set(named ? [named] : found.map(lead => lead.case.case))
    const keys = operators.slice(0, 1).map(operator_key)
    const beside = said.filter(word => word !== named && !keys.includes(operator_key(word)))
    const [variant, of_fix] = _choose(of_cases, beside)
    if (variant && !operators.length && !named && kept.every(word => of_fix.includes(word))) return [variant, of_fix]
    return variant && of_cases.size === 1 ? [`${[...of_cases][0]}/${variant}`, of_fix] : ['', []]
  }
  const _of_operator = (operator, said, kept) => {
    const key = operator_key(operator)
    const of_cases = new Set(entries.filter(({case: {keys}}) => keys.has(key)).map(({case: entry}) => entry.case))
    const beside = said.filter(word => operator_key(word) !== key)
    const [variant, meant] = _choose(of_cases, beside)
    const rest = _stems(beside.filter(word => kept.includes(word) && !meant.includes(word)).join(' '))
    const says_form = entries.some(({case: entry}) => of_cases.has(entry.case) && _share(rest, _stems(entry.title)))
    return variant && !says_form ? [`${operator}/${variant}`, meant] : ['', []]
  }
  const _choose = (of_cases, said) => {
    const found = entries.filter(({case: entry, variant}) => of_cases.has(entry.case) && variant !== PLAIN).map(entry => {
      const [note] = entry.texts.find(([, , what]) => what === words._ASIDE[1]) ?? ['']
      return [entry.variant, _words_of_fix(said, entry.variant, note, entry.case.title)]
    }).filter(([, meant]) => meant.length)
    const most = Math.max(0, ...found.map(([, meant]) => meant.length))
    const best = found.filter(([, meant]) => meant.length === most)
    const variants = unique(best.map(([variant]) => variant))
    return variants.length === 1 ? [variants[0], unique(best.flatMap(([, meant]) => meant))] : ['', []]
  }
  const _words_of_fix = (said, variant, note, title) => {
    const [name, told] = [_stems(variant), _stems(title)], tokens = new Set([...name, ..._stems(note)])
    const found = unique(said).filter(word => {
      const stems = _stems(word)
      return stems.size > 0 && [...stems].every(stem => tokens.has(stem)) && !_share(stems, told)
    })
    const [spoken, meant] = [said.filter(word => operator_key(word) === operator_key(variant)), _stems(found.join(' '))]
    const is_named = [...name].every(stem => named_fix._OF_ANY.includes(stem) || meant.has(stem))
    return spoken.length || meant.size >= named_fix._FEWEST || is_named ? unique([...found, ...spoken]) : []
  }
  const _share = (mine, theirs) => [...mine].some(stem => theirs.has(stem))
  const _stems = text => new Set(findall(words._TOKEN, casefold(text)).map(item => item[0].replace(words._ENDING, '').slice(0, words._STEM)))

  // --- search.py
  const find = query => {
    query = head(strip(query), search.LONGEST)
    const found = {query, error: false, hits: [], ops: [], themes: [], sources: [], near: [], question: null, left_out: [], missing: [], narrowed: '', uncovered: []}
    if (!query) return found
    if (is_error(query)) return _of_error(found, match_error(query))
    const question = read_question(query), plain = read_plain(query), spelled = {...found, query: spell_code(query)}
    if (!question && plain && plain.words !== query && _names_operators(plain.words)) return _of_question(spelled, plain)
    const is_placed = question && _is_placed(question)
    if (!question || !(question.named || is_placed || is_sentence(query))) {
      const hits = _about_every(_parts(query))
      if (hits.length) return _of_words(found, query, hits)
    }
    const told = split(query).length >= search._SENTENCE ? match_error(query) : null
    const is_sure = told?.leads.length && [CONFIDENCE.EXACT, CONFIDENCE.CAUSE].includes(told.leads[0].confidence)
    const asks_for_fix = question?.asks === 'workarounds' && question.releases.length > 0
    if (is_sure && !asks_for_fix) return _of_error(found, told)
    if (question) return _of_question(spelled, question)
    const some = plain && _of_question(spelled, plain)
    if (some && _is_few_words(some)) return some
    const has_every = some && (_has_every(some) || (spelled.query !== query && some.hits.length > 0))
    if (told?.leads.length && told.leads[0].confidence !== CONFIDENCE.WORDS && !has_every) return _of_error(found, told)
    return some && _has_most(some) ? some : _of_words(found, query, [])
  }
  const _names_operators = words =>
    split(casefold(words)).every(word => data.dtypes.includes(word) || is_known(operator_key(word)) || every_operator.has(operator_key(word)))
  const _is_placed = question => {
    const asked = split(question.words)
    const by_exporter = question.exporter && asked.some(word => !mentions.ENGLISH.includes(word) && _is_any_operator(word))
    return by_exporter || (question.releases.length > 0 && asked.some(is_torch_name))
  }
  const _has_every = found =>
    found.hits.length > 0 && !found.left_out.length && 2 * split(found.question.words).length >= split(found.query).length
  const _is_few_words = found => {
    const named = found.question?.words ?? ''
    const is_known = found.hits.length > 0 || _is_operator(named) || match(search._FUNCTION, named)?.[0] === named
    return Boolean(is_known) && split(found.query).length <= reading.SHORT && !match(reading.OF_A_LINE, found.query)
  }
  const _has_most = found => found.hits.length > 0 && found.left_out.length <= split(found.question.words).length
  const _of_words = (found, words, hits) => {
    const named = names_of => _named_like(words, entries.flatMap(({case: entry}) => names_of(entry)))
    return {
      ...found, hits, ops: named(entry => entry.ops), themes: named(entry => [entry.theme]),
      sources: named(entry => entry.sources), near: hits.length ? [] : _near(words),
    }
  }
  const _near = said_as => nearest(said_as, entries.flatMap(({case: entry}) => [entry.case, ...entry.ops, entry.theme]))
  const _words_together = (every, listed) => {
    const together = find_asked(every.join(' '), listed)
    if (together.length && name_operators(every.map(casefold)).length < words.SEVERAL) return every
    if (together.length) {
      const about = new Set(together.filter(lead => lead.score >= words._ABOUT * together[0].score).map(lead => lead.case))
      return every.filter(word => is_operator(casefold(word)) || find_asked(word, listed).some(lead => about.has(lead.case)))
    }
    const find_each = kept => new Map(unique(every).map(word => [word, find_asked([...kept, word].join(' '), listed)]))
    const keep = (kept, word) => find_asked([...kept, word].join(' '), listed).length ? [...kept, word] : kept
    const leads = find_each([]), known_words = [...leads.keys()].filter(word => leads.get(word).length)
    const named = known_words.filter(word => is_operator(casefold(word)))
    const kept = named.sort((mine, theirs) => leads.get(theirs)[0].score - leads.get(mine)[0].score).reduce(keep, [])
    const beside = find_each(kept), others = known_words.filter(word => !named.includes(word) && beside.get(word).length)
    const together_in_one = _words_of_one_case(others, beside, leads)
    const rank = word => [Number(!is_part(word)), Number(!together_in_one.has(word)), Number(!is_argument(word)), kept.length ? -beside.get(word)[0].score : 0, leads.get(word).length]
    return others.sort((mine, theirs) => compare(rank(mine), rank(theirs))).reduce(keep, kept)
  }
  const _words_of_one_case = (others, beside, leads) => {
    const [weight, having] = [new Map(), new Map()]
    for (const word of others) for (const {case: {case: name}} of beside.get(word)) {
      const rarity = Math.log(search._MANY / leads.get(word).length) * (is_argument(word) || is_dtype(word) ? search._ARGUMENT : 1)
      weight.set(name, (weight.get(name) ?? 0) + rarity)
      having.set(name, [...having.get(name) ?? [], word])
    }
    const key = name => [Math.round(weight.get(name) * 1000), having.get(name).length, name]
    const [best] = [...having.keys()].sort((mine, theirs) => compare(key(theirs), key(mine)))
    return new Set(having.get(best) ?? [])
  }
  const _of_question = (found, read) => {
    const {query} = found
    const words_of = _join_names(query, split(read.words))
    const named = read.asks === 'workarounds' ? words_of.flatMap(_without_slash) : words_of
    const spoken = _without_english(query, named.flatMap(_split_names))
    const rest = read.asks === 'workarounds' ? _without_fix(query, spoken) : spoken
    const alone = read.asks === 'upgrade' ? '' : _without_case(query, rest)
    if (alone) {
      const beside = rest.filter(word => word !== alone)
      return {...found, question: {...read, words: alone}, left_out: beside, missing: _missing_beside(query, beside)}
    }
    const of_fixes = ['', 'workarounds'].includes(read.asks) ? _uncovered(rest) : []
    const is_few = !has_sentence(query)
    const uncovered = read.asks ? of_fixes : of_fixes.filter(word => is_torch_name(word) || (is_few && _is_operator(word)))
    const every = rest.filter(word => !uncovered.includes(word))
    const unknown = uncovered.filter(word => !_is_operator(word))
    if (uncovered.length && (unknown.length || !_no_dtypes(every).some(word => _is_name(word) || is_part(word)))) {
      const [first, ...others] = [...unknown, ...uncovered.filter(word => !unknown.includes(word))]
      return {
        ...found, question: {...read, words: first}, near: _near(first), left_out: every, missing: _missing_beside(query, every),
        uncovered: unknown.length ? [] : others,
      }
    }
    const listed = every.length > 0 && _is_listed(query, every, read.asks === 'upgrade')
    let kept, missing
    if (read.asks === 'upgrade') {
      const others = every.filter(word => !has_case(word))
      kept = every.filter(word => !is_argument(word) && (!others.includes(word) || !has_sentence(query) || _is_name(word)))
      missing = unique(others.filter(word => kept.includes(word)))
    } else {
      const together = _words_together(has_sentence(query) ? _telling(every) : every, listed)
      kept = together.length ? together : every
      const is_answered = has_sentence(query) && kept.some(word => is_operator(casefold(word)))
      const is_fix = read.asks || match(reading.OWNER, query)
      const is_aside = word => !(_is_name(word) || (!is_fix && _is_said(word)))
      missing = every.filter(word => !kept.includes(word) && !(is_answered && is_aside(word)))
    }
    let left_out = every.filter(word => !kept.includes(word))
    const asked = every.filter(word => kept.includes(word)).join(' ')
    let question = {...read, words: asked, listed: Boolean(asked) && listed}
    if (!asked) return {...found, question, left_out}
    const looked_for = every.filter(word => kept.includes(word) && !missing.includes(word)).join(' ')
    if (!read.asks && split(casefold(looked_for)).every(word => search.WEAK.includes(word))) {
      return {...found, question: {...read, words: every.join(' ')}, near: _near(asked)}
    }
    let hits = _find_with_most(looked_for, listed)
    if (read.asks === 'workarounds') {
      let ranking
      ;({hits, ranking} = _rank_by(hits, [...left_out, ...spoken.filter(word => !every.includes(word))]))
      const [fix, meant] = name_fix(named, kept, hits)
      question = {...question, fix}
      ;[left_out, missing] = [left_out, missing].map(found => found.filter(word => !ranking.includes(word) && !meant.includes(word)))
    }
    if (read.asks !== 'upgrade' && !question.fix) hits = add_missing(hits, split(looked_for), missing)
    if (!read.asks) left_out = [...left_out, ..._not_told(named.filter(word => !spoken.includes(word)), hits)]
    const narrowed = read.asks === 'upgrade' || listed || question.fix ? '' : _tell_narrowed(read, query, split(looked_for), hits)
    return {..._of_words(found, looked_for || asked, hits), question, left_out, missing, narrowed, uncovered}
  }
  const _find_with_most = (asked, listed) => {
    const found = find_asked(asked, listed)
    const telling = split(asked).filter(word => !search.WEAK.includes(casefold(word))).join(' ')
    return found.length || !telling ? found : find_asked(telling, listed)
  }
  const _not_told = (said, hits) => {
    const is_there = word => find_asked(word, false).some(lead => hits.some(hit => hit.case === lead.case))
    return said.filter(word => mentions.COMPUTING.includes(word) && !is_there(word))
  }
  const onnx_names = new Set(entries.flatMap(({case: {ops}}) => ops.filter(op => !op.includes('::')).map(casefold)))
  const _is_covered = word => {
    if (!is_torch_name(word) || !_is_operator(word) || !is_operator(casefold(word))) return is_operator(casefold(word))
    const name = casefold(word.split('.').at(-1))
    return torchs_of_cases().has(operator_key(word)) || operator_key(word) !== name || !onnx_names.has(name)
  }
  const _uncovered = every => every.filter(word => !mentions.ENGLISH.includes(word) && !_is_covered(word) && _is_uncovered(word))
  const _is_uncovered = word => {
    if (is_torch_name(word)) return _is_operator(word) || !find_asked(word, false).length
    if (is_dtype(word) || [...said_of().keys()].some(name => says(name, word))) return false
    return _is_operator(word) || (_is_misspelled(word) && !find_asked(word, false).length)
  }
  const _is_misspelled = word => {
    const is_long = word.length >= search._LONG_NAME && /^[a-z_]+$/i.test(word)
    return is_long && [...every_operator].some(name => name.length >= search._LONG_NAME && distance(casefold(word), name) === 1)
  }
  const _join_names = (query, every) => {
    const found = _join_modes(_joined_names(query, every)), keys = found.map(operator_key)
    return found.filter((word, place) => !_is_any_operator(word) || keys.indexOf(keys[place]) === place)
  }
  const _joined_names = (query, every) => every.reduce((found, word) => {
    for (const many of [2, 1]) {
      const parts = [...found.slice(-many), word], name = casefold(parts.join('_'))
      if (found.length >= many && casefold(query).includes(casefold(parts.join(' '))) && is_operator(name)) return [...found.slice(0, -many), name]
    }
    return [...found, word]
  }, [])
  const names_of_operators = new Set(Object.values(operators._KEYS))
  const is_operator_name = text => names_of_operators.has(operator_key(text))
  const _is_mode = (name, mode) => (is_torch_name(name) || is_operator_name(name)) && is_operator_name(`${name}.${mode}`) && operator_key(`${name}.${mode}`) !== operator_key(name)
  const _join_modes = every => {
    const [name, mode] = every.flatMap(word => every.filter(other => _is_mode(word, other)).map(other => [word, other]))[0] ?? []
    if (!mode) return every
    return every.filter(word => word !== mode && !search._MODES.includes(word)).map(word => word === name ? `${name}.${mode}` : word)
  }
  const _is_listed = (query, every, each) => {
    if (each || !has_sentence(query)) {
      return Boolean(match(words._LISTS, query.slice(query.indexOf(every[0]), Math.max(query.lastIndexOf(every.at(-1)), 0))))
    }
    const tokens = findall(search._TOKEN, query).map(item => item[0])
    const ends = tokens.flatMap((token, place) => every.includes(token) ? [place] : [])
    return ends.slice(1).some((last, number) => {
      const between = tokens.slice(ends[number] + 1, last)
      return between.length > 0 && between.every(token => search._JOINS.includes(token))
    })
  }
  const _is_number = word => /^\p{Nd}+$/u.test(word)
  const _is_said = word => !_is_number(word) && [...said_of().keys()].some(name => says(name, word))
  const _telling = every => {
    const has_operator = every.some(word => !mentions.ENGLISH.includes(word) && is_operator(casefold(word)))
    return every.filter(word => !(has_operator && search.WEAK.includes(word)) && (_is_told(word) || _is_said(word)))
  }
  const _is_told = word => !_is_number(word) && (_is_name(word) || is_operator(casefold(word)))
  const _without_fix = (query, every) => {
    const of_fix = read_fix_parts(query)
    const rest = every.filter(word => !of_fix.has(word))
    if (rest.some(_is_any_operator)) return rest
    return every.some(word => of_fix.has(word) && _is_any_operator(word)) || !_telling(rest).length ? every : rest
  }
  const _without_case = (query, every) => {
    const bare = every.filter(word => !mentions.ENGLISH.includes(word) && !data.dtypes.includes(casefold(word)))
    const in_full = bare.filter(word => word.includes('.') && _is_operator(word)), named = in_full.length ? in_full : bare
    const is_name = name => match(search._CODE, name) || name.includes('-')
    const is_known = word => _is_covered(word) || (is_name(word) && entries.some(({case: entry, variant}) => [entry.case, variant].includes(word)))
    const is_plain = word => mentions.ENGLISH.includes(word) || search.WEAK.includes(word)
    const is_one = every.filter(word => !is_plain(word) && _is_any_operator(word)).length === 1
    if (every.some(is_part) || !(has_sentence(query) || is_one) || named.some(word => is_known(word))) return ''
    const operators = named.filter(word => _is_operator(word) && _is_uncovered(word))
    const functions = named.filter(word => match(search._FUNCTION, word)?.[0] === word && !find_asked(word, false).length)
    return [...operators, ...functions][0] ?? ''
  }
  const _is_beside = (query, word) => [`'${word}'`, `"${word}"`].some(given => query.includes(given)) || is_argument(word) || is_dtype(word) || _is_said(word)
  const _missing_beside = (query, every) => {
    const has_plain = has_sentence(query)
    return _no_dtypes(every).filter(word => !has_plain || _is_beside(query, word))
  }
  const _no_dtypes = every => every.filter(word => !is_dtype(word))
  const _is_any_operator = word => _is_operator(word) && !data.dtypes.includes(casefold(word))
  const _split_names = word => {
    const parts = word.split('/')
    return parts.length > 1 && parts.every(_is_operator) ? parts : [word]
  }
  const _without_slash = word => {
    const at = word.lastIndexOf('/')
    return at >= 0 && entries.some(({variant}) => variant === word.slice(at + 1)) ? [word.slice(0, at), word.slice(at + 1)] : [word]
  }
  const _rank_by = (hits, said) => {
    const having = new Map(said.map(word => [word, new Set(find_asked(word, false).map(lead => lead.case))]))
    const ranking = [...having.keys()].filter(word => hits.some(hit => having.get(word).has(hit.case)))
    const many = hit => ranking.filter(word => having.get(word).has(hit.case)).length
    return {hits: [...hits].sort((mine, theirs) => many(theirs) - many(mine)), ranking}
  }
  const _tell_narrowed = (read, query, asked, hits) => {
    const operators = asked.filter(word => is_operator(casefold(word)))
    const plain = asked.filter(word => !operators.includes(word) && (is_argument(word) || !_is_name(word)))
    const is_placed = read.releases.length > 0 || read.opset || read.exporter
    if (operators.length !== 1 || !plain.length || !(is_placed || has_sentence(query))) return ''
    const every = find_asked(operators[0], false).length
    const said = plain.map(word => `«${_with_switch(word)}»`).join(', ')
    const begins = hits.length > 1 ? `These are ${hits.length}` : 'This is one'
    return hits.length < every ? `${begins} of the ${every} cases about ${operators[0]}, those with ${said}.` : ''
  }
  const themes = new Set(entries.map(({case: {theme}}) => theme).filter(Boolean))
  const operators_of_cases = new Set(entries.flatMap(({case: {ops}}) => ops.map(operator_key)))
  const has_case = word => themes.has(word) || operators_of_cases.has(operator_key(word))
  const is_argument = word => word.slice(1).includes('=')
  const _with_switch = word => word.replace(search._SWITCH, found => found[0].toUpperCase() + found.slice(1))
  const tell_elsewhere = found => {
    const [named] = match(reading._ELSEWHERE, found.query) ?? []
    return named && !found.missing.includes(named) ? `Every file was run on ONNX Runtime: what ${named} makes of it is not known.` : ''
  }
  const tell_unknown = missing => {
    const left = missing.map(word => `«${_with_switch(word)}»`).join(', ')
    const each = missing.length === 1 ? 'it' : 'them'
    return missing.length ? `Not known with ${left}: no measured case is about ${each} together with the rest. Without ${each}:` : ''
  }
  const _is_name = word => Boolean(match(search._CODE, word) || is_argument(word) || data.dtypes.includes(word) || (!mentions.ENGLISH.includes(word) && _is_operator(word)))
  const _is_operator = word => every_operator.has(operator_key(word))
  const _without_english = (query, every) => {
    const is_named = word => is_operator(casefold(word)) || entries.some(({variant}) => variant === word)
    const others = every.filter(word => !mentions.ENGLISH.includes(word) && is_named(word))
    const english = others.length ? every.filter(word => mentions.ENGLISH.includes(word) && !data.dtypes.includes(word)) : []
    if (!english.length || !(has_sentence(query) || others.some(word => match(search._FUNCTION, word)?.[0] === word))) return every
    const tokens = findall(search._TOKEN, query).map(item => item[0])
    const meant = tokens.filter((token, place) => english.includes(token) && _is_meant(tokens, place))
    return every.filter(word => !english.includes(word) || meant.includes(word))
  }
  const _is_meant = (tokens, place) => {
    const [before, behind] = [tokens.slice(0, place).reverse(), tokens.slice(place + 1)]
    if ([before[0], behind[0]].some(token => search._SAYS_OPERATOR.includes(token))) return true
    const is_last = !behind.length || [...search._JOINS, ...search._ENDS].includes(behind[0]) || /^[^\p{L}\p{N}]/u.test(behind[0])
    return _is_joined(behind) || (_is_joined(before) && is_last)
  }
  const _is_joined = tokens => {
    const begin = tokens.findIndex(token => !search._JOINS.includes(token))
    return begin > 0 && _is_operator(tokens[begin])
  }
  const _of_error = (found, told) =>
    ({...found, error: true, told, hits: told.leads, ops: [...told.evidence.operators, ...told.evidence.beside].slice(0, search._MOST_OPERATORS)})
  const is_error = query => {
    if (match(search._ERROR, query) || is_kind(query) || plain_causes.PATTERNS.some(pattern => match(pattern, query))) return true
    const is_long = strip(query).includes('\n') || ([...query].length > search._LONG && !match(search._ASKS, query))
    return is_long && !is_long_question(query)
  }
  const shorten = query => {
    if (!is_error(query)) return split(query).join(' ')
    const read = read_error(query)
    const lines = read.reasons.slice(0, 1).map(reason => reason.kind ? `${reason.kind}: ${reason.line}` : reason.line)
    const named = read.operators.slice(0, 1).filter(op => !lines.join(' ').includes(op.split('::').at(-1)))
    const releases = unique(findall(reading._NAMED_RELEASE, query).map(item => item.groups.one))
    const at = releases.length === 1 && lines.length ? [`torch ${releases[0]}:`] : []
    return head(split([...at, ...lines, ...named].join(' ') || query).join(' '), search._IN_ADDRESS)
  }
  const _named_like = (query, known_names) => {
    const wanted = casefold(query).replace(/^torch\./, '')
    return unique(known_names).filter(name => name && casefold(name).includes(wanted)).slice(0, search._MOST_NAMES)
  }

  // --- names.py
  const nearest = (name, known_names) => {
    const folded = strip(casefold(name))
    const most = Math.max(1, Math.floor([...folded].length / 3))
    const alike = unique(known_names).map(item => [_typos(folded, item), item]).filter(([typos]) => typos <= most)
    const ranked = alike.map(([typos, item], place) => [typos, _words(item).length, distance(name, item), place, item])
    const last = _last(folded)
    if (!ranked.length && last !== folded && /^[a-z_]\w*$/.test(last)) return nearest(last, known_names)
    return ranked.sort(compare).slice(0, names._SHOWN).map(item => item.at(-1))
  }
  const _last = name => name.split(/[:./]/).at(-1)
  const _typos = (folded, item) => {
    const whole = casefold(item)
    const parts = [whole, ..._words(whole)]
    if (parts.includes(folded)) return 0
    if (folded && (whole.includes(folded) || _words(folded).includes(whole))) return 1
    const compared = [_last(whole), ...[...folded].length > names._SHORT ? parts : [whole]]
    return Math.min(...compared.map(word => distance(folded, word)))
  }
  const _words = name => name.split(/[-_:./\s]+/).filter(Boolean)
  // letters to change, add, leave out or swap, each pair swapped once
  const distance = (name, known_name) => {
    const [mine, theirs] = [[...name], [...known_name]]
    let [before, last] = [[], [...Array(theirs.length + 1).keys()]]
    for (let i = 1; i <= mine.length; i++) {
      const row = [i]
      for (let j = 1; j <= theirs.length; j++) {
        const same = mine[i - 1] === theirs[j - 1] ? 0 : 1
        row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + same)
        const swapped = i > 1 && j > 1 && mine[i - 1] === theirs[j - 2] && mine[i - 2] === theirs[j - 1]
        if (swapped) row[j] = Math.min(row[j], before[j - 2] + 1)
      }
      [before, last] = [last, row]
    }
    return last[theirs.length]
  }
  // how torch's own calls end, of the operator that a name means
  const tell_operator = name => {
    const plain = [...name.match(/^(?:torch\.)?(?:nn\.functional\.|nn\.|F\.|aten::)?(\w+)$/) ?? []].slice(1).map(end => casefold(end).replaceAll('_', ''))
    const spellings = [name, name.replace(/^torch\./, ''), ...plain, operator_key(name)]
    const place = data.told_of[spellings.find(spelling => Object.hasOwn(data.told_of, spelling))]
    return place === undefined || split(name).length !== 1 ? '' : data.sentences_of[place]
  }

  // --- explain.py and error_answer.py: the sentence to act on, where nobody names a point
  const _end = (lead, opset) => {
    const [first, named] = lead.case.ends?.[lead.place] ?? []
    const end = data.ends?.[opset === String(lead.opset) ? named ?? first : first]
    const place = `torch ${lead.torch}, ${data.short?.[lead.exporter] ?? lead.exporter}, ${lead.opset ? `opset ${lead.opset}` : 'its own opset'}`
    return end && {told: end[0].replaceAll('{here}', place), works: end[1], helping: end[2]}
  }
  const _helping_first = (found, opset) => {
    const sure = found.filter(lead => SURE.includes(lead.confidence))
    const ends = new Map(sure.map(lead => [lead, _end(lead, opset) ?? {works: 0, helping: 0}]))
    if (!sure.length || [...ends.values()].every(end => end.works)) return found
    const rank = lead => {
      const [end, exact] = [ends.get(lead), lead.confidence === CONFIDENCE.EXACT]
      return [end.works, Number(!exact), Number(exact && !end.helping)]
    }
    return [...sure.sort((mine, theirs) => compare(rank(mine), rank(theirs))), ...found.slice(sure.length)]
  }
  const _asked_opset = text => match(explain._OPSET, text)?.[1] ?? ''
  // leads in the order in which they are told, those that help first
  const ordered = (told, text) => {
    const first = told.leads.slice(0, explain._LOOKED_AT)
    return [..._helping_first(first, _asked_opset(text)), ...told.leads.slice(explain._LOOKED_AT)]
  }
  const _ending = read => {
    const key = read.operators.length ? operator_key(read.operators[0]) : ''
    const ending = known.filter(({item}) => !(key && item.key && item.key !== key) && speaks_alike(read, item))
    return new Set(ending.flatMap(({places}) => places.map(({entry}) => entry.case.case))).size
  }
  const _is_of_torch = op =>
    explain._OF_TORCH.some(start => op.startsWith(start)) || op.includes(' ') || (!op.includes('::') && /^[^\p{Lu}]/u.test(op))
  const _nobody = read => {
    const many = _ending(read)
    const cases = `${many} measured case${many === 1 ? '' : 's'} end${many === 1 ? 's' : ''}`
    return many ? `${cases} with these words, which several causes can have` : 'No measured case has just this error with the newest packages beside torch'
  }
  // what is said of an error before what this copy does not know: how things stand at the reader's own point
  const decide = (told, text) => {
    const {evidence, cases, alike} = told
    const [lead] = ordered(told, text)
    if (evidence.only_named) {
      const [kind] = evidence.kinds
      return cases ? `${cases} measured case${cases === 1 ? '' : 's'} ended with ${kind}: paste the words behind it, which name the operator.` : `No measured case ends with ${kind}.`
    }
    if (plain_causes.PATTERNS.some(pattern => match(pattern, text)) && !SURE.includes(lead?.confidence)) return ''
    const [op] = evidence.operators
    if (!lead && !op && !evidence.reasons.length) return explain._NO_SENTENCE
    const calls = op && _is_of_torch(op) ? tell_operator(op) : ''
    if (!lead || (calls && lead.confidence === CONFIDENCE.SIMILAR)) {
      return op ? strip(`No measured case fails like this, and none is about ${op}. ${calls}`)
        : 'No measured case fails like this: nothing is known of a fix.'
    }
    const title = rstrip(lead.case.title, '.')
    const what = title ? `${lead.case.case} (${title})` : lead.case.case
    if (lead.confidence === CONFIDENCE.WORDS) return `No measured case fails like this; ${lead.why}, which ${what} is about.`
    if (lead.confidence === CONFIDENCE.OPERATOR && op) {
      const is_named = operator_keys(lead.case.ops).has(operator_key(op))
      const nearest = `${_nobody(evidence)}; the nearest about ${is_named ? op : lead.case.ops[0]} is ${what}.`
      return is_named ? strip(`${nearest} ${calls}`) : nearest
    }
    if (lead.confidence === CONFIDENCE.SIMILAR) return `${_nobody(evidence)}; the most alike is ${what}.`
    const there = lead.runtime ? `It was seen on ${lead.runtime}.` : _end(lead, _asked_opset(text))?.told ?? ''
    if (alike > 1) {
      const same = lead.confidence === CONFIDENCE.EXACT ? 'end with this error' : 'fail for this cause'
      const many = alike > error_answer._FEW ? ', which alone does not tell them apart;' : ','
      return strip(`${alike} measured cases ${same}${many} the first is ${what}. ${there}`)
    }
    return strip(`This is ${what}. ${there}`)
  }
  const is_weak = word => search.WEAK.includes(casefold(word))
  return {find, shorten, is_weak, is_dtype, tell_elsewhere, operator_key, tell_operator, tell_unknown, ordered, decide}
}
