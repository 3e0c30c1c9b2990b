// The search line of the static copy: what match.js finds, as the front page of the app shows it.
(() => {
  const box = document.querySelector('#q')
  const out = document.querySelector('#found')
  const {files, fixes, pages} = window.CANIEXPORT
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
    const links = (fixes[entry.fixes[place]] ?? []).map(([name, anchor]) => link(`${entry.file}#${anchor}`, name))
    return links.length ? [element('p', 'works', element('span', 'badge s-pass', '✓ pass'), ' works there: ', ...between(links, ', '))] : []
  }
  const shown = hit => {
    const {case: entry} = hit
    const seen = hit.torch || hit.runtime
    const found = ` ${entry.case} · found by ${hit.why}${seen ? ` · seen on ${hit.torch ? `torch ${seen}` : seen}` : ''}`
    const name = element('p', 'name', link(entry.file, entry.title || entry.case), element('span', 'quiet', found))
    const answers = entry.answers.map(([kind, sign, exporter, text]) =>
      element('li', '', element('span', `badge ${kind}`, sign), ' ', element('b', '', exporter), ` ${text}`))
    const said = hit.text ? [element('p', 'said', hit.text)] : []
    return element('li', '', name, ...said, ...working(hit), element('ul', 'answers', ...answers))
  }
  const told = found => {
    const count = `${found.hits.length} case${found.hits.length === 1 ? '' : 's'}`
    const shared = found.error ? 'this error, its operator or words like it' : 'these words'
    const best = found.hits.length > SHOWN ? `, the best ${SHOWN} are shown` : ''
    return element('p', 'hint', `${count} with ${shared}${best}.`)
  }
  const nothing = found => {
    const near = found.near.length
      ? [' The nearest known: ', ...between(found.near.map(name => link(`?q=${encodeURIComponent(name)}`, name)), ', '), '.'] : []
    return element('p', 'hint', 'No measured case has all of these words, and no measured error is like them.', ...near)
  }
  const search = () => {
    const query = box.value.trim()
    document.querySelector('#start').hidden = Boolean(query)
    out.replaceChildren()
    if (!query) return
    const found = asked().find(query)
    const key = asked().operator_key(query)
    const own = found.error || found.ops.some(op => asked().operator_key(op) === key) ? [] : [query]
    const named = [...others('operators', [...found.ops, ...own]), ...others('themes', found.themes)]
    if (named.length) out.append(element('p', 'counts', ...named))
    const alone = found.error && named.length
      ? element('p', 'hint', 'No measured case fails like this; the page of the operator says what passes where.') : nothing(found)
    out.append(found.hits.length ? told(found) : alone)
    out.append(element('ol', 'hits', ...found.hits.slice(0, SHOWN).map(shown)))
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
