// The filters of the matrix in the static copy: what the app's filters do, without a server. They stand in the address.
(() => {
  const form = document.querySelector('#filters'), table = document.querySelector('table.matrix')
  const fields = form.elements
  const usual = ['trace', 'dynamo']
  const heads = [...table.tHead.querySelectorAll('th:not(.case, .by)')].map(head => head.textContent)
  const blocks = [...table.tBodies].filter(body => body.dataset.case)
  const numbers = version => version.split('.').map(Number)
  const compare = (one, other) => {
    for (let at = 0; at < one.length && at < other.length; at++) if (one[at] !== other[at]) return one[at] - other[at]
    return 0
  }
  // 2.8, 2.0..2.15, 1.13-2.0, 2.0.. as the app reads them: a series at an end takes all of its releases
  const takes = (text, release) => text.split(',').map(item => item.trim()).filter(Boolean).some(item => {
    const span = item.match(/^([\d.]*?)\s*(?:\.\.|\u2013|-)\s*([\d.]*)$/)
    const version = numbers(release)
    if (!span) return compare(version, numbers(item)) === 0
    return (!span[1] || compare(version, numbers(span[1])) >= 0) && (!span[2] || compare(version, numbers(span[2])) <= 0)
  })
  const chosen = () => [...fields.exporter].filter(box => box.checked).map(box => box.value)

  const rows = (block, exporters, status) => {
    const all = [...block.rows]
    const found = all.filter(row => exporters.includes(row.querySelector('th.by')?.textContent))
    return status && !found.some(row => row.querySelector(`td.${status}`)) ? [] : found.filter(row => !status || row.querySelector(`td.${status}`))
  }
  const show = (block, shown) => {
    const name = block.querySelector('th.case')
    for (const row of block.rows) row.hidden = !shown.includes(row)
    if (!shown.length) return
    shown[0].prepend(name)
    name.rowSpan = shown.length
  }
  const columns = new CSSStyleSheet()
  document.adoptedStyleSheets.push(columns)
  const hidden = torch => heads.map((name, at) => torch && !takes(torch, name) ? at + 1 : 0).filter(Boolean)
  let before = ''
  const apply = () => {
    const exporters = chosen(), {value: theme} = fields.theme, {value: status} = fields.status
    const torch = fields.torch.value.trim(), query = fields.q.value.trim().toLowerCase()
    const without = hidden(torch)
    columns.replaceSync(without.map(at =>
      `.matrix tr:not(.theme) td:nth-of-type(${at}), .matrix thead th:nth-of-type(${at + 2}) { display: none }`).join('\n'))
    const themes = new Set(), names = new Set()
    for (const block of blocks) {
      const {case: name, theme: mine} = block.dataset
      const wanted = (!theme || mine === theme) && `${name} ${block.querySelector('th.case').textContent}`.toLowerCase().includes(query)
      const shown = wanted ? rows(block, exporters, status) : []
      show(block, shown)
      if (shown.length) { themes.add(mine); names.add(name) }
    }
    for (const body of table.tBodies) if (!body.dataset.case) body.hidden = !themes.has(body.dataset.theme)
    const isUsual = exporters.join() === usual.join()
    const filtered = theme || status || torch || query || !isUsual
    // the numbers above are those of the whole table
    document.querySelectorAll('.signs > summary b').forEach(number => { number.hidden = Boolean(filtered) })
    const none = torch && without.length === heads.length ? `No torch release within ${torch} has been measured. ` : ''
    document.querySelector('#filtered').textContent = filtered ? `${none}${names.size} case${names.size === 1 ? '' : 's'} on ${heads.length - without.length} torch releases.` : ''
    const asked = {q: query, torch, theme, status, exporter: isUsual ? '' : exporters.join()}
    const address = new URLSearchParams(Object.entries(asked).filter(([, value]) => value)).toString()
    history.replaceState({}, '', `${location.pathname}${address && '?'}${address}${address ? '' : location.hash}`)
    if (table.classList.toggle('chosen', Boolean(torch)) || torch !== before) window.toNewest()
    before = torch
    window.dispatchEvent(new Event('scroll'))
  }
  const asked = new URLSearchParams(location.search)
  for (const name of ['q', 'torch', 'theme', 'status']) fields[name].value = asked.get(name) ?? ''
  if (asked.get('exporter')) for (const box of fields.exporter) box.checked = asked.get('exporter').split(',').some(name => name === box.value || name.endsWith(`-${box.value}`))
  form.hidden = false
  form.addEventListener('submit', event => event.preventDefault())
  form.addEventListener('change', apply)
  let waiting
  form.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(apply, 150) })
  if (location.search) apply()
})()
