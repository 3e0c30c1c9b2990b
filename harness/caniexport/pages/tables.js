// What tables and texts do in a browser, in the app and in the static copy.
// Texts and the address of the page can be copied, where the browser lets a script do that.
const address = () => {
  const narrow = document.querySelector('input.narrow')?.value
  return narrow ? new URL(`#${new URLSearchParams({narrow})}`, location).href : location.href
}
const copies = () => navigator.clipboard && document.querySelectorAll('.code:not(:has(.copy))').forEach(box => {
  box.prepend(Object.assign(document.createElement('button'), {className: 'copy', type: 'button', textContent: 'Copy'}))
})
if (navigator.clipboard) document.documentElement.classList.add('scripted')
document.addEventListener('click', event => {
  const button = event.target.closest?.('button.copy')
  if (!button) return
  const words = button.textContent
  navigator.clipboard.writeText(button.matches('.link') ? address() : button.nextElementSibling.textContent).then(() => {
    button.textContent = 'Copied'
    setTimeout(() => { button.textContent = words }, 4000)
  })
})
// a table is narrowed while somebody types: every word has to be in a row's own
const narrow = input => {
  const parts = input.value.toLowerCase().split(/\s+/).filter(Boolean)
  const line = input.closest('p'), rows = [...line.parentElement.querySelectorAll('table.narrowed tbody tr')]
  for (const row of rows) row.hidden = !parts.every(part => row.textContent.toLowerCase().includes(part))
  const shown = rows.filter(row => !row.hidden).length, text = shown ? `${shown} of ${rows.length}` : 'nothing of this name'
  for (const fold of line.parentElement.querySelectorAll('details:has(table.narrowed)')) fold.open = parts.length > 0
  line.querySelector('[role=status]').textContent = parts.length ? text : ''
}
document.addEventListener('input', event => {
  if (!event.target.matches?.('input.narrow')) return
  window.narrowing = {at: location.href, words: event.target.value}
  narrow(event.target)
})
// what was typed goes on where the table is drawn anew: of other rows
const narrowed = () => document.querySelectorAll('input.narrow:not([data-seen])').forEach(input => {
  input.dataset.seen = '1'
  const words = window.narrowing?.at === location.href ? window.narrowing.words : new URLSearchParams(location.hash.slice(1)).get('narrow')
  if (words === null) return
  input.value = words
  narrow(input)
})
// a long table of the copy stands in the file that its fold links to, which is read when somebody opens it
document.addEventListener('toggle', async ({target: fold}) => {
  if (!fold.dataset.table || fold.querySelector('table')) return
  const {answer} = await (await fetch(fold.querySelector('a').href)).json()
  const {rows} = answer.tables.find(({title}) => title === fold.dataset.table)
  const box = Object.assign(document.createElement('div'), {className: 'scroll', tabIndex: 0})
  const table = box.appendChild(Object.assign(document.createElement('table'), {className: 'plain'}))
  Object.keys(rows[0]).forEach(name => { (table.tHead?.rows[0] ?? table.createTHead().insertRow()).insertCell().textContent = name })
  const body = table.createTBody()
  for (const row of rows) {
    const line = body.insertRow()
    for (const cell of Object.values(row)) line.insertCell().textContent = [cell ?? ''].flat().map(item => item ?? 'default').join(', ')
  }
  fold.append(box)
}, true)
// how many columns of a table lie out of its box, in the corner that stays in it
const beyond = box => {
  const corner = box.querySelector('.matrix thead th.case')
  if (!corner) return
  const heads = [...corner.parentElement.children].filter(head => !head.matches('.case, .by') && head.offsetWidth)
  const by = corner.parentElement.querySelector('.by')
  const begins = Math.max(corner.getBoundingClientRect().right, by && getComputedStyle(by).position === 'sticky' ? by.getBoundingClientRect().right : 0)
  const ends = box.getBoundingClientRect().right
  const middle = heads.map(head => head.getBoundingClientRect().left + head.offsetWidth / 2)
  const [before, after] = [middle.filter(at => at < begins).length, middle.filter(at => at > ends).length]
  box.classList.toggle('goes-left', before > 0)
  const text = [before && `← ${before} more`, after && `${after} more →`].filter(Boolean).join(' · ')
  const note = corner.querySelector('small') ?? corner.appendChild(document.createElement('small'))
  if (note.textContent !== text) note.textContent = text
}
document.addEventListener('scroll', event => { if (event.target.matches?.('.scroll')) beyond(event.target) }, {capture: true, passive: true})
const boxes = () => document.querySelectorAll('.scroll:has(> .matrix):not([data-seen])').forEach(box => {
  box.dataset.seen = '1'
  sizes.observe(box)
})
const sizes = new ResizeObserver(seen => seen.forEach(({target}) => beyond(target)))
// the heads of a table stay in the window while its rows go by
const heads = () => document.querySelectorAll('.scroll > table').forEach(table => {
  const top = document.querySelector('[data-testid=stHeader]')?.getBoundingClientRect().bottom || 0
  const {top: begins, bottom: ends} = table.getBoundingClientRect()
  const down = begins < top && ends > top + 2 * table.tHead.offsetHeight ? top - begins - 1 : 0
  table.style.setProperty('--down', `${down}px`)
})
document.addEventListener('scroll', heads, {capture: true, passive: true})
const drawnTables = () => { boxes(); narrowed(); copies() }
drawnTables()
