// What an error text says: caniexport.match.evidence function by function, under the same names. Each regular expression
// and each list is the constant of the Python module that it is read from, as javascript.py wrote it.
window.makeReader = data => {
  const revived = value => {
    if (Array.isArray(value)) return value.map(revived)
    if (value === null || typeof value !== 'object') return value
    if (value.source) return new RegExp(value.source, value.flags)
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, revived(item)]))
  }
  const constants = revived(data.constants)
  const {operators, messages, evidence, mentions} = constants
  const rules = revived(data.rules)

  // --- what Python's own functions do
  const SPACES = new RegExp(`[${data.space}]+`, 'u')
  const OUTER_SPACE = new RegExp(`^[${data.space}]+|(?<![${data.space}])[${data.space}]+$`, 'gu')
  const strip = text => text.replace(OUTER_SPACE, '')
  const split = text => text.split(SPACES).filter(Boolean)
  const splitlines = text => text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/)
  const head = (text, length) => text.length <= length ? text : [...text].slice(0, length).join('')
  const casefold = text => text.toLowerCase()
  const rstrip = (text, letters) => { while (text && letters.includes(text.at(-1))) text = text.slice(0, -1); return text }
  const lstrip = (text, letters) => { while (text && letters.includes(text[0])) text = text.slice(1); return text }
  const match = (pattern, text) => { pattern.lastIndex = 0; return pattern.exec(text) }
  const findall = (pattern, text) => { pattern.lastIndex = 0; return [...text.matchAll(pattern)] }
  const sub = (pattern, text, replacement) => text.replace(pattern, () => replacement)
  const remembered = make => {
    const kept = new Map()
    return key => kept.get(key) ?? kept.set(key, make(key)).get(key)
  }
  const unique = items => [...new Set(items)]

  // --- operators.py
  const KEYS = new Map(Object.entries(operators._KEYS))
  const _bare = folded => {
    let [name, shorter] = ['', folded]
    while (shorter !== name) [name, shorter] = [shorter, sub(operators._NAMESPACE, shorter, '')]
    return sub(operators._OVERLOAD, name.replace(operators._PART, '$1_'), '')
  }
  const _spelled = bare => bare.startsWith('__') ? bare : bare.replaceAll('_', '').split(SPACES).join('')
  const operator_key = name => {
    const folded = casefold(strip(name))
    const bare = _bare(folded)
    return KEYS.get(folded) || KEYS.get(bare) || (KEYS.get(_spelled(bare)) ?? _spelled(bare))
  }
  const operator_name = name => _spelled(_bare(casefold(strip(name))))
  const operator_keys = known => new Set(known.map(operator_key).filter(Boolean))

  // --- evidence.py
  const speaks_alone = part => !evidence._BEFORE_CAUSES.includes(casefold(part)) && [...part].length >= evidence._LEAST_CLAUSE && split(part).length >= evidence._CLAUSE_WORDS
  const split_words = text => {
    const axes = findall(evidence._AXIS, text).map(axis => split(axis[0]).join(' '))
    return new Set([...findall(evidence._TOKEN, text).map(token => casefold(token[0])), ...axes])
  }
  const is_kind = text => Boolean(match(evidence._BARE_KIND, text))
  const signature = text => {
    const line = rules.reduce((line, [rule, replacement]) => sub(rule, line, replacement), _reason(text))
    return head(strip(line), messages._SIGNATURE_WIDTH)
  }
  const _reason = text => sub(messages._CPP_PREFIX, text, '').split('\n').find(strip) ?? ''
  const clauses_of = remembered(pattern =>
    pattern.split(evidence._CLAUSES).map(part => casefold(strip(part))).filter(speaks_alone))
  const is_helper = op => evidence._HELPERS.slice(1).some(start => op.startsWith(start))
  const Reason = (kind, text) => {
    const line = splitlines(text).map(strip).find(Boolean) ?? ''
    const symbols = sub(evidence._SYMBOL, sub(evidence._RUNTIME, line, ''), 'N')
    const bare = sub(evidence._BEFORE, sub(evidence._ARGUMENTS, sub(evidence._OWNER, symbols, ''), ''), '')
    const naming = evidence._RULES.map(rule => match(rule, bare)).find(found => found && !is_helper(found.groups.op))
    const [start, end] = naming?.indices.groups.op ?? []
    const named = naming
      ? `${rstrip(bare.slice(0, start), evidence._QUOTE)} operator ${lstrip(bare.slice(end), evidence._QUOTE)}` : bare
    const said = sub(evidence._NODE_NAME, named, '…')
    const pattern = rstrip(signature(sub(evidence._INPUT, said, 'input: …')), '. ')
    const exact = casefold(head(rstrip(split(sub(evidence._QUOTED, sub(evidence._VALUE_NAME, said, '…'), 'N')).join(' '), '. '), 300))
    const [tells, alone] = [split_words(line).size >= evidence.LEAST_WORDS, speaks_alone(exact)]
    const [clauses, warns, names_operator] = [clauses_of(pattern), kind.endsWith('Warning'), Boolean(naming)]
    return {kind, text, line, pattern, clauses, exact, tells, alone, warns, names_operator}
  }
  const read_error = text => {
    const narrow = sub(evidence._ANSI, text, '').replace(evidence._SPACED, run => run.replace(evidence._BEHIND_IT, '$1'))
    const joined = sub(evidence._BROKEN_LINE, narrow, '')
    const whole = _measured_words(both_ends(joined.replace(/[^]/gu, letter => evidence._QUOTES[letter] ?? letter)))
    const found = _reasons(_clean(whole))
    const inner = found.flatMap(reason => findall(evidence._INNER_KIND, reason.text).map(item => item.groups.kind))
    const kinds = unique([...found.map(reason => reason.kind).filter(Boolean), ...inner])
    const telling = found.filter(reason => !match(evidence._WRAPPERS, reason.line))
    const reasons = telling.length ? telling : found
    return {
      reasons,
      kinds,
      operators: _operators(whole, reasons, found),
      called: _called(whole),
      clauses: unique(reasons.flatMap(reason => reason.clauses)),
      patterns: casefold(reasons.map(reason => reason.pattern).join('\n')),
      words: split_words(reasons.map(reason => `${reason.kind} ${reason.text}`).join('\n')),
      only_named: kinds.length > 0 && !reasons.some(reason => reason.text),
    }
  }
  const _measured_words = text => {
    const found = evidence._OTHER_WORDS.filter(([, known]) => !text.includes(known)).map(
      ([pattern, , words]) => [match(pattern, text), words])
    const told = found.filter(([at]) => at).map(([at, words]) => words.replace(evidence._NUMBER, at[1] || 'N'))
    return [text, ...told].join('\n')
  }
  const misspelt = word => {
    const [every, last] = [[...word].map((_, at) => at), word.length - 1]
    const changed = every.slice(1, last).map(at => `${word.slice(0, at)}[a-z]?${word.slice(at + 1)}`)
    const longer = every.slice(1).map(at => `${word.slice(0, at)}[a-z]${word.slice(at)}`)
    const turned = every.slice(1, last - 1).map(at => word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2))
    return new RegExp(`\\b(?!${word}\\b)(?:${[...changed, ...longer, ...turned].join('|')})\\b`)
  }
  const mended = said => {
    const apart = sub(evidence._MARKED, sub(evidence._NO_GAP, said.replace(evidence._BLOB, '$1$2'), ' '), "'")
    const text = evidence._MISSPELT.reduce((text, [pattern, word]) => sub(pattern, text, word), apart)
    return !text.includes(evidence._REFUSAL) && match(evidence._REFUSED, text)
      ? `${text}\nValueError: ${evidence._REFUSAL}: N` : text
  }
  const both_ends = text => text.length <= 2 * evidence.LONGEST ? text
    : `${text.slice(0, evidence.LONGEST)}\n${text.slice(-evidence.LONGEST)}`
  const _clean = text => {
    const {_WHAT, _OUTER_NODE, _OF_MODEL, _LOG_PREFIX, _ADVICE, _NODE_DUMP, _CAUSED_BY, _FRAME, _GRAPH, _ASKED_FOR} = evidence
    return [_LOG_PREFIX, _ADVICE, _NODE_DUMP, _CAUSED_BY, _FRAME, _GRAPH, _ASKED_FOR].reduce(
      (text, pattern) => sub(pattern, text, pattern === _CAUSED_BY ? ' ' : '\n'),
      sub(_OF_MODEL, sub(_OUTER_NODE, sub(_WHAT, text, '\nException: '), ''), ''))
  }
  const _reasons = text => {
    const bare = match(evidence._BARE_KIND, strip(text))
    if (bare) return [Reason(bare.groups.kind, '')]
    const marks = findall(evidence._RAISED, text)
    const told = marks.map((mark, place) => {
      const said = strip(text.slice(mark.index + mark[0].length, marks[place + 1]?.index ?? text.length))
      return [mark.groups.quoted || mark.groups.plain || '', _trimmed(head(said, evidence._REASON))]
    })
    const different = [...new Map(told.filter(([, said]) => said).map(item => [item.join('\0'), item])).values()]
    const raising = different.length ? undefined : findall(evidence._RAISING, text).at(-1)?.groups
    if (raising) different.push([raising.kind, strip(raising.double || raising.single)])
    if (!different.length && strip(text)) different.push(['', head(_complaints(text), evidence._REASON)])
    return _innermost_first(text, different.map(item => Reason(...item))).slice(0, evidence._MOST_REASONS)
  }
  const _complaints = text =>
    splitlines(text).map(strip).filter(line => match(evidence._WRONG, line)).join('\n') || strip(text)
  const _trimmed = said => {
    for (const end of evidence._TIES) said = said.split(end)[0]
    const runtime = match(evidence._RUNTIME, said)
    return strip(rstrip(lstrip(strip(runtime ? said.slice(runtime.index) : said), '│|'), '│|'))
  }
  const _innermost_first = (text, found) => {
    const last = match(evidence._TRACE_END, text) && !text.includes(evidence._DIRECT)
    const ordered = text.includes('\ncaused by ') || last ? found.reverse() : found
    return [...ordered.filter(reason => !reason.warns), ...ordered.filter(reason => reason.warns)]
  }
  const _operators = (whole, telling, reasons) => {
    const said = reason => _named(`${reason.kind}: ${reason.text}`)
    const frames = pattern => findall(pattern, whole).map(item => item.groups.op).reverse().filter(
      op => !evidence._NOT_OPERATORS.includes(op) && !evidence._HELPERS.some(start => op.startsWith(start))).map(
      op => match(evidence._NAMESPACED, op)?.index === 0 ? spelled(op) : op)
    const raised = [evidence._SYMBOLIC, evidence._TORCHLIB, evidence._REFERENCE].flatMap(frames)
    const found = _by_key([...telling.flatMap(said), ...raised, ...reasons.flatMap(said)])
    if (found.length) return found
    const cleaned = _clean(telling.some(reason => reason.kind) ? sub(evidence._LOGGED, whole, '') : whole)
    const named = _by_key(_named(cleaned))
    return named.length ? named : _by_key([..._listed(cleaned), ..._quoted(cleaned), ..._onnx_named(cleaned)])
  }
  const _by_key = found => {
    const by_key = new Map()
    for (const op of found) {
      const key = operator_key(op)
      if (key && !evidence._NO_OPERATOR.includes(key) && !by_key.has(key)) by_key.set(key, op)
    }
    return [...by_key.values()]
  }
  const _called = text => findall(evidence._SHOWN_LINE, text).flatMap(shown =>
    findall(evidence._CALL, shown.groups.code).map(({groups}) => groups.function || groups.method || 'slice'))
  const _named = text => {
    const every = evidence._RULES.flatMap(rule => findall(rule, text).map(item => item.groups.op))
    const found = every.filter(op => !is_helper(op)).map(spelled)
    return text.includes("Couldn't export Python operator") ? [...found, 'prim::PythonOp'] : found
  }
  const _quoted = text => findall(evidence._QUOTED_OPERATOR, text).map(({groups}) => spelled(groups.op))
  const _listed = text => findall(evidence._LISTS, text).flatMap(({groups}) =>
    findall(evidence._LISTED, groups.names).map(item => spelled(item[0])))
  const node_in_name = new RegExp(`(?<![A-Z])(?:${data.long_nodes.join('|')})(?![a-z])`, 'gu')
  const read_mentions = (whole, read) => {
    const text = both_ends(whole)
    const patterns = [...mentions._IN_CODE, ...read.reasons.some(reason => reason.kind) ? [] : [mentions._METHOD]]
    const all = of => of.flatMap(pattern => findall(pattern, text).map(item => (item[1] ?? item[0]).replaceAll('.', '_')))
    const own = [
      ...match(mentions._WRITTEN, text) ? ['aten::index_put_'] : [], ...match(mentions._FUNCTION, text) ? ['prim::PythonOp'] : [],
    ]
    const last = findall(mentions._LAST_FUNCTION, text.slice(Math.max(text.lastIndexOf(mentions._FILE), 0))).map(item => item[1])
    return unique([...all([...patterns, mentions.CODE_WORD]), ...own, ...all([node_in_name]), ...last])
  }
  const read_of_extension = text => unique(mentions._OF_EXTENSION.flatMap(
    pattern => findall(pattern, both_ends(text)).map(item => item[1])))
  const read_said = said => mentions._SAID_OF.filter(([words]) => said.includes(words)).map(([, op]) => op)
  const read_attributes = text =>
    findall(evidence._ATTRIBUTE, text).map(({groups}) => groups.name || groups.before)
  const _onnx_named = text => {
    const found = findall(evidence._ONNX_NAMED, text).map(
      ({groups}) => groups.kind || groups.op || groups.before || groups.alone)
    const files = findall(evidence._ONNX_FILE, text).map(({groups}) => groups.op)
    return [...found, ...files].filter(
      op => data.nodes.includes(op))
  }
  const spelled = op => {
    if (op.includes(' ')) return casefold(op)
    if (op.includes('::')) return `${op.slice(0, op.indexOf('::')) || 'aten'}::${op.slice(op.indexOf('::') + 2)}`
    const last = separator => op.slice(op.lastIndexOf(separator) + 1)
    if (op.includes(':')) return /^(?:ai\.onnx|org\.pytorch\.aten)/.test(op) ? last(':') : op.replaceAll(':', '::')
    if (/^(?:torch|nn)\./.test(op)) return `aten::${last('.')}`
    if (/\.\p{Lu}[^.]*$/u.test(op)) return `${op.slice(0, op.lastIndexOf('.'))}::${last('.')}`
    if (op.includes('.')) return op.replaceAll('.PyCapsule', '').split('.').slice(0, 2).join('::')
    const namespaced = match(evidence._NAMESPACED, op)
    if (namespaced?.index === 0) return `${namespaced.groups.namespace}::${namespaced.groups.name}`
    return /^\p{Lu}/u.test(op) ? op : `aten::${op}`
  }

  return {
    both_ends, casefold, clauses_of, constants, findall, head, is_kind, lstrip, match, operator_key, operator_keys, operator_name,
    mended, misspelt, read_attributes, read_error, read_mentions, read_of_extension, read_said, remembered, rstrip, speaks_alone, spelled, split, split_words, strip, unique,
  }
}
