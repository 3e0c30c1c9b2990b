// The search line of the static copy: what match.js finds, as the front page of the app shows it.
(() => {
  const box = document.querySelector('#q')
  const out = document.querySelector('#found')
  const {beside, called, cases, changed, decided: needed, decisions, needing, entries, files, fix_words, fixes, letters, pages, torch, upgrades} = window.CANIEXPORT
  let index
  const asked = () => (index ??= window.makeSearch(window.CANIEXPORT))
  const SHOWN = 40
  const OPERATOR = "No case is about it: its page has the calls of torch's own database."

  const element = (name, classes, ...parts) => {
    const made = document.createElement(name)
    if (classes) made.className = classes
    made.append(...parts)
    return made
  }
  const link = (address, text) => Object.assign(element('a', '', text), {href: address})
  const between = (items, separator) => items.flatMap((item, place) => place ? [separator, item] : [item])
  const others = (kind, names) => {
    const page = name => files[name] ?? pages[asked().operator_key(name)]
    const known = names.filter(page)
    return known.length ? [element('span', '', `${kind}: `, ...between(known.map(name => link(page(name), name)), ', '))] : []
  }
  const working = ({case: entry, place}) => {
    const links = (fixes[entry.fixes[place]] ?? []).map(([name, anchor, changed]) =>
      element('span', '', link(`${entry.file}#${anchor}`, name), changed && `, which ${changed}`))
    return links.length ? [element('p', 'works', element('span', 'badge s-pass', '✓ pass'), ' works there: ', ...between(links, ', '))] : []
  }
  // the word of the fix by which a case was found, on the newest release
  const words_of_fix = ({case: entry, variant}) => {
    const place = variant === 'plain' ? -1 : entries.findIndex(([number, name]) => name === variant && cases[number].case === entry.case)
    const words = [...fix_words[place] ?? ''].flatMap((letter, at) => letters[letter] ? [[beside[at], ...letters[letter]]] : [])
    if (!words.length) return []
    const told = words.flatMap(([exporter, css, name]) => [` ${exporter} `, element('span', `badge ${css}`, name)])
    return [element('p', 'works', `${variant} at torch ${torch.at(-1)} (the newest):`, ...told, changed[place] ? `, which ${changed[place]}` : '')]
  }
  const shown = hit => {
    const {case: entry} = hit
    const seen = hit.torch || hit.runtime
    const found = ` ${entry.case} · found by ${hit.why}${seen ? ` · seen on ${hit.torch ? `torch ${seen}` : seen}` : ''}`
    const name = element('p', 'name', element('span', 'quiet', 'documented: '), link(entry.file, entry.title || entry.case), element('span', 'quiet', found))
    const answers = entry.answers.map(([kind, sign, exporter, text]) =>
      element('li', '', element('span', `badge ${kind}`, sign), ' ', element('b', '', exporter), ` ${text}`))
    const said = hit.text ? [element('p', 'said', hit.text)] : []
    return element('li', '', name, ...said, ...words_of_fix(hit), ...working(hit), element('ul', 'answers', ...answers))
  }
  const ticked = text => text.split('`').map((part, at) => at % 2 ? element('code', '', part) : part)
  const told = found => {
    const count = `${found.hits.length} case${found.hits.length === 1 ? '' : 's'}`
    const shared = found.error ? 'this error, its operator or words like it' : 'these words'
    const best = found.hits.length > SHOWN ? `, the best ${SHOWN} are shown` : ''
    return element('p', 'hint', `${count} with ${shared}${best}.`)
  }
  // an error: what to do where its case was last seen with it; how things stand at the reader's own point is not here
  const decided = (told, said) => {
    const here = told.leads.length
      ? ['This copy tells where it was last seen. At your own release: ', element('code', '', 'caniexport why - --torch VERSION < error.txt'), '.']
      : [element('code', '', 'caniexport check FILE.py:FACTORY'), ' takes the model itself through releases and exporters.']
    return [...said ? [element('p', 'decision', ...ticked(said))] : [], element('p', 'hint', ...here)]
  }
  const nothing = found => {
    const near = found.near.length
      ? [' The nearest known: ', ...between(found.near.map(name => link(`?q=${encodeURIComponent(name)}`, name)), ', '), '.'] : []
    const way_on = found.query.trim().includes(' ')
      ? [' Where a model of your own fails, paste the whole error; ', element('code', '', 'caniexport check FILE.py:FACTORY'), ' takes the model itself through releases and exporters.'] : []
    return element('p', 'hint', 'No measured case has all of these words, and no measured error is like them.', ...near, ...way_on)
  }
  // What of a question this copy can answer: how its releases are known, its upgrades to the newest release, its pages
  const series = release => torch.filter(name => name === release || name.startsWith(`${release}.`)).at(-1)
  const patch = release => torch.filter(name => /^\d+\.\d+\.\d+$/.test(release) && series_of(name) === series_of(release))
    .sort((one, other) => Math.abs(micro(one) - micro(release)) - Math.abs(micro(other) - micro(release)))[0]
  const [series_of, micro] = [release => release.split('.', 2).join('.'), release => Number(release.split('.')[2])]
  const is_older = (one, other) => {
    const [mine, theirs] = [one, other].map(release => [...release.matchAll(/\d+/g)].slice(0, 3).map(Number))
    const place = mine.findIndex((number, index) => number !== (theirs[index] ?? 0))
    return place >= 0 && mine[place] < (theirs[place] ?? 0)
  }
  // «<2.1» is the newest one that is older
  const known = release => release.startsWith('>') ? torch.at(-1) : release.startsWith('<') ? torch.filter(name => is_older(name, release.slice(1))).at(-1)
    : series(release.split('+')[0]) ?? patch(release.split('+')[0])
  const read_as = (found, {words, opset, exporter, runtime, asks, fix}, releases, move) => {
    const setting = [releases.length && !move && `torch ${releases.join('..')}`, opset && `opset ${opset}`,
      exporter && `exporter ${exporter}`, runtime && `runtime ${runtime.replace('==', ' ')}`]
    const told = [move && `from torch ${move[0]} to torch ${move[1]}`, ...setting, asks === 'workarounds' && 'is a workaround needed',
      asks === 'matrix' && 'as a table', asks === 'alerts' && 'what each release broke', fix ? `fix: ${fix}` : words && `word${words.includes(' ') ? 's' : ''}: ${words}`].filter(Boolean).join(', ')
    return element('p', 'hint read-as', 'Read as: ', element('b', '', told || found.query), '.')
  }
  // the same question in a terminal, where it is answered as it was asked
  const command_of = query => element('code', '', `caniexport why "${query.replace(/["\\$`]/g, '\\$&')}"`)
  // what goes before an answer of which these names were asked for, and no case is about them
  const uncovered = (names, rest) => {
    const told = names.map(name => [name, asked().tell_operator(name)])
    const unknown = told.filter(([, said]) => !said).map(([name]) => name).join(', ')
    const parts = [unknown && `Nothing was measured of an operator called ${unknown}.`, ...told.map(([name, said]) => said && `No case is about ${name}. ${said}`)]
    return names.length ? [element('p', 'decision', ...ticked([...parts, rest].filter(Boolean).join(' ')))] : []
  }
  const tell_unknown = missing => asked().tell_unknown(missing)
  const tell_elsewhere = found => asked().tell_elsewhere(found)
  const upgrade_of = ([before, after], {words, opset, exporter, runtime}, query) => {
    const newest = torch.at(-1)
    const [by, at] = called[before] ?? []
    const is_default = (!opset || opset === String(at)) && (!exporter || exporter === by || (exporter === 'TorchScript' && by === 'trace'))
    const found = upgrades[before]?.[after]
    const given = [!found && `to torch ${after}`, !is_default && opset && `opset ${opset}`, !is_default && exporter, runtime && runtime.replace('==', ' '), words].filter(Boolean)
    const alone = `This copy has upgrades of all cases as the releases are called by default alone, near the newest release. Yours (${given.join(', ')}): `
    const more = given.length ? [element('p', 'decision', alone, command_of(query))] : []
    const [to, [file, decision] = []] = found ? [after, found] : [newest, upgrades[before]?.[newest]]
    if (!decision) return more
    if (!given.length && (opset || exporter)) more.push(element('p', 'hint', `Torch ${before} as it is called by default: ${by}, opset ${at}.`))
    // what is no answer to what was asked is no decision
    const [first, ...others] = decision.split('\n')
    const said = element('p', given.length ? 'hint' : 'decision', ...ticked(given.length ? `From torch ${before} to torch ${to}, by default: ${first}` : first))
    const ways = others.length ? [element('ul', 'ways', ...others.map(way => element('li', '', ...ticked(way))))] : []
    const all = upgrades[before]?.[newest]?.[0]
    const way = file ? link(file, `All of it: from torch ${before} to torch ${to}`) : element('span', '', 'All of it: ', command_of(query), '; ', link(all, `to the newest, torch ${newest}`))
    return [...more, said, ...ways, element('p', '', way)]
  }
  const move_of = (question, releases) => {
    const is_span = question.kind === 'range' && !question.words && question.asks !== 'matrix'
    const is_move = question.kind === 'move' || question.asks === 'upgrade' || is_span
    if (!is_move || !releases.some(Boolean)) return null
    const [begins, ends] = [releases[0], releases.length > 1 ? releases.at(-1) : '']
    return [begins || torch[Math.max(0, torch.indexOf(ends) - 1)], ends || torch.at(-1)]
  }
  // whether the fix that a question means is needed, or those of its one operator, on the newest release
  const needed_of = ({asks, fix, words}) => {
    if (asks !== 'workarounds') return ''
    const [before, variant] = fix ? [fix.slice(0, Math.max(0, fix.lastIndexOf('/'))), fix.slice(fix.lastIndexOf('/') + 1)] : [words, '']
    const key = asked().operator_key(before)
    const said = decisions[needed[`${before}/${variant}`] ?? needed[`${key}/${variant}`]] ?? ''
    const told = entries.filter(entry => entry[1] === variant || !variant).map(([number]) => cases[number].case)
    const others = fix ? (needing[key] ?? []).filter(name => !told.includes(name)) : []
    if (!said || !others.length) return said
    const named = others.slice(0, 3).join(', ') + (others.length > 3 ? ` and ${others.length - 3} more` : '')
    return `${said.replace(/^Not needed[^.]*\./, 'Not needed, with exceptions.')} Other calls of ${before} still need a workaround: ${named}.`
  }
  const of_question = found => {
    const {question} = found
    const written = question.releases.filter(Boolean)
    const unknown = written.filter(release => !known(release))
    const releases = question.releases.map(release => release && known(release)).filter(release => release !== undefined)
    if (question.kind === 'range' && releases.every(Boolean)) releases.sort((one, other) => torch.indexOf(one) - torch.indexOf(other))
    const move = unknown.length ? null : move_of(question, releases)
    const made = [read_as(found, question, releases.filter(Boolean), move)]
    if (question.own) made.push(element('p', '', 'Of your own file: ', element('code', '', 'caniexport upgrade --model FILE.onnx'), ' says which known failures touch it. Of your own model: ', element('code', '', 'caniexport check FILE.py:FACTORY'), ' measures it on each release.'))
    const without = (words, style) => words.length ? [element('p', style, `Answered without ${words.map(word => `«${word}»`).join(', ')}: no measured case is about ${words.length > 1 ? 'them' : 'it'} together with the rest.`)] : []
    // the calls of an operator that no case is about are told in one type of tensors
    const unknown_words = found.left_out.filter(word => found.missing.includes(word) || (!found.hits.length && asked().is_dtype(word)))
    const elsewhere = tell_elsewhere(found)
    if (elsewhere) made.push(element('p', 'decision', elsewhere))
    if (unknown_words.length) made.push(element('p', 'decision', tell_unknown(unknown_words)))
    made.push(...without(found.left_out.filter(word => !unknown_words.includes(word)), 'hint'))
    if (found.narrowed) made.push(element('p', 'hint', found.narrowed))
    made.push(...unknown.map(release => element('p', 'hint', `torch ${release} has not been measured (measured: ${torch.join(', ')}).`)))
    const before = written.filter(release => release.startsWith('<') && known(release))
    made.push(...before.map(release => element('p', 'hint', `torch ${known(release)} is the newest release measured before torch ${release.slice(1)}.`)))
    const others = written.filter(release => known(release) && !release.startsWith('>') && !before.includes(release) && !series(release.split('+')[0]))
    made.push(...others.map(release => element('p', 'hint', `torch ${release} was not measured; ${known(release)} is answered.`)))
    if (move) return [...made, ...uncovered(found.missing, 'Of all cases:'), ...upgrade_of(move, question, found.query)]
    made.push(...uncovered(found.uncovered, found.hits.length ? 'Of the rest:' : ''))
    if (question.asks === 'alerts') return [...made, element('p', '', link('alerts.html', 'What each release made worse than the one before it'))]
    const asked = new URLSearchParams()
    if (question.words) asked.set('q', question.words)
    if (releases.length) asked.set('torch', releases.join('..'))
    const table = link(`matrix.html?${asked}`, 'As a table')
    // of another release or opset than the newest's own a yes or no would be no answer
    const is_elsewhere = question.opset || releases.some(release => release !== torch.at(-1))
    const needed_there = needed_of(question)
    const first = needed_there && is_elsewhere
      ? `This copy knows it of the newest release alone: ${needed_there.replace(/^(Not needed|Needed|It )[^.]*\. /, '')}` : needed_there
    if (first) made.splice(found.uncovered.length ? made.length : 1, 0, element('p', 'decision', ...ticked(first)), element('p', 'hint', 'Each release at its own default opset.'))
    const fixes = question.asks === 'workarounds' ? [' · ', link('workarounds.html', `Workarounds at torch ${torch.at(-1)}`)] : []
    const alone = ' This copy says where each case works, not how it stands at one setting: the page of a case has every cell of it. At yours: '
    const at = releases.length || question.opset || question.exporter || question.runtime ? [alone, command_of(box.value.trim())] : []
    return [...made, element('p', '', table, ...fixes, ...at)]
  }
  const search = () => {
    const query = box.value.trim()
    document.querySelector('#start').hidden = Boolean(query)
    out.replaceChildren()
    if (!query) return
    let found = asked().find(query)
    // a fix behind the name of its case
    if (!found.error && !found.hits.length && query.includes('/')) found = asked().find(query.replaceAll('/', ' '))
    const key = asked().operator_key(query)
    if (found.question) {
      out.append(...of_question(found))
      if (!found.question.words) return
    }
    const own = found.error || found.question || found.ops.some(op => asked().operator_key(op) === key) ? [] : [query]
    // how an operator's calls end says nothing of what is asked beside it
    const is_plain = !found.hits.length || found.left_out.every(asked().is_weak)
    const calls = found.error || !is_plain ? '' : asked().tell_operator(found.question ? found.question.words : query)
    if (calls) out.append(element('p', 'decision', ...ticked(calls)))
    const decision = found.error ? asked().decide(found.told, found.query) : ''
    if (found.error) out.append(...decided(found.told, decision))
    const named = [...others('operators', [...found.ops, ...own]), ...others('themes', found.themes)]
    if (named.length) out.append(element('p', 'counts', ...named))
    const alone = found.error && named.length
      ? element('p', 'hint', 'No measured case fails like this; the page of the operator says what passes where.') : nothing(found)
    if (found.hits.length || !decision) out.append(found.hits.length ? told(found) : alone)
    const hits = found.error ? asked().ordered(found.told, found.query) : found.hits
    out.append(element('ol', 'hits', ...hits.slice(0, SHOWN).map(shown)))
  }
  const fromAddress = () => { box.value = new URLSearchParams(location.search).get('q') || ''; search() }
  const intoAddress = () => {
    const query = box.value.trim() && asked().shorten(box.value)
    history.replaceState({}, '', query ? `?q=${encodeURIComponent(query)}` : location.pathname)
  }
  let waiting
  box.addEventListener('input', () => {
    search()
    clearTimeout(waiting)
    waiting = setTimeout(intoAddress, 200)
  })
  document.addEventListener('keydown', event => {
    if (event.key === '/' && event.target !== box) { event.preventDefault(); box.focus() }
  })
  addEventListener('popstate', fromAddress)
  fromAddress()
})()
