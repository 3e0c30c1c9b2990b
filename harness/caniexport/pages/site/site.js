// The search of the static copy: words over cases, and pasted errors by the rarest words they share with a measured one.
(() => {
  const box = document.querySelector('#q')
  const out = document.querySelector('#found')
  const {cases, errors} = window.CANIEXPORT
  const KIND = /\b\w*(?:Error|Exception|Fail|InvalidArgument|InvalidGraph|NotImplemented): |\[ONNXRuntimeError\]/
  const words = text => new Set((text.match(/[A-Za-z_][\w:.]*\w/g) || []).map(word => word.toLowerCase()))
  const told = errors.map(error => words(error.text))
  const counts = new Map()
  for (const found of told) for (const word of found) counts.set(word, (counts.get(word) || 0) + 1)
  const rarity = word => Math.log(1 + told.length / (counts.get(word) || 1))
  const weigh = found => [...found].reduce((sum, word) => sum + rarity(word), 0)

  const byError = query => {
    const lines = query.split(/(?=\b[\w.]*(?:Error|Exception|Fail|InvalidArgument): )/)
    const asked = words(lines[lines.length - 1].split('\n')[0] || query)
    const mine = weigh(asked)
    const best = new Map()
    errors.forEach((error, index) => {
      const shared = new Set([...told[index]].filter(word => asked.has(word)))
      if (shared.size < 2) return
      const like = Math.max(weigh(shared) / weigh(told[index]), 0.99 * weigh(shared) / mine)
      if (like < 0.6) return
      for (const number of error.cases) if (!(best.get(number)?.like >= like)) best.set(number, {like, text: error.text})
    })
    const found = [...best].sort((a, b) => b[1].like - a[1].like)
    const exact = found.filter(item => item[1].like > 0.98)
    return (exact.length ? exact : found).map(([number, item]) =>
      ({case: cases[number], why: `an error like it (${Math.round(item.like * 100)} %)`, text: item.text}))
  }
  const byWords = query => {
    const parts = query.toLowerCase().split(/\s+/)
    return cases.filter(item => parts.every(part => item.words.includes(part)))
      .sort((a, b) => (b.name.includes(parts[0]) - a.name.includes(parts[0])))
      .map(item => ({case: item, why: '', text: ''}))
  }
  const element = (name, text, classes) => {
    const made = document.createElement(name)
    if (text) made.textContent = text
    if (classes) made.className = classes
    return made
  }
  const shown = item => {
    const row = element('li')
    const name = element('p', '', 'name')
    const link = element('a', item.case.title)
    link.href = item.case.file
    name.append(link, element('span', ` ${item.case.name} ${item.why}`, 'quiet'))
    row.append(name)
    if (item.text) row.append(element('p', item.text.slice(0, 220), 'said'))
    const answers = element('ul', '', 'answers')
    for (const [kind, sign, exporter, text] of item.case.answers) {
      const line = element('li')
      line.append(element('span', sign, `badge ${kind}`), ' ', element('b', exporter), ` ${text}`)
      answers.append(line)
    }
    row.append(answers)
    return row
  }
  const search = () => {
    const query = box.value.trim()
    document.querySelector('#start').hidden = Boolean(query)
    out.replaceChildren()
    if (!query) return
    const asError = KIND.test(query) || query.includes('\n') || query.length > 120
    let found = asError ? byError(query) : byWords(query)
    if (!found.length) found = asError ? byWords(query) : byError(query)
    out.append(element('p', found.length ? `${found.length} found` : 'Nothing was found.', 'hint'))
    const list = element('ol', '', 'hits')
    list.append(...found.slice(0, 40).map(shown))
    out.append(list)
  }
  const fromAddress = () => { box.value = new URLSearchParams(location.search).get('q') || ''; search() }
  let waiting
  box.addEventListener('input', () => {
    search()
    clearTimeout(waiting)
    waiting = setTimeout(() => history.replaceState({}, '', box.value ? `?q=${encodeURIComponent(box.value)}` : location.pathname), 200)
  })
  document.addEventListener('keydown', event => {
    if (event.key === '/' && event.target !== box) { event.preventDefault(); box.focus() }
  })
  addEventListener('popstate', fromAddress)
  fromAddress()
})()
