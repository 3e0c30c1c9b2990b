// Texts and the address of the page can be copied, where the browser lets a script do that.
if (navigator.clipboard) {
  document.documentElement.classList.add('scripted')
  for (const box of document.querySelectorAll('.code')) {
    box.prepend(Object.assign(document.createElement('button'), {className: 'copy', type: 'button', textContent: 'Copy'}))
  }
  addEventListener('click', async event => {
    const button = event.target.closest('button.copy')
    if (!button) return
    const words = button.textContent
    await navigator.clipboard.writeText(button.matches('.link') ? location.href : button.nextElementSibling.textContent)
    button.textContent = 'Copied'
    setTimeout(() => { button.textContent = words }, 4000)
  })
}
// The heads of a table stay in the window while its rows go by.
addEventListener('scroll', () => {
  for (const table of document.querySelectorAll('.scroll > table')) {
    const {top, bottom} = table.getBoundingClientRect()
    table.style.setProperty('--down', `${top < 0 && bottom > 2 * table.tHead.offsetHeight ? -top : 0}px`)
  }
}, {passive: true})
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
  const told = [before && `← ${before} more`, after && `${after} more →`].filter(Boolean).join(' · ')
  const note = corner.querySelector('small') ?? corner.appendChild(document.createElement('small'))
  if (note.textContent !== told) note.textContent = told
}
for (const box of document.querySelectorAll('.scroll:has(> .matrix)')) beyond(box)
addEventListener('scroll', event => { if (event.target.matches?.('.scroll')) beyond(event.target) }, {capture: true, passive: true})
addEventListener('resize', () => document.querySelectorAll('.scroll:has(> .matrix)').forEach(beyond))
// A table is narrowed while somebody types: every word has to be in a row's own.
addEventListener('input', event => {
  if (!event.target.matches('input.narrow')) return
  const parts = event.target.value.toLowerCase().split(/\s+/).filter(Boolean)
  const line = event.target.closest('p'), rows = [...line.parentElement.querySelectorAll('table.narrowed tbody tr')]
  for (const row of rows) row.hidden = !parts.every(part => row.textContent.toLowerCase().includes(part))
  for (const fold of line.parentElement.querySelectorAll('details:has(table.narrowed)')) fold.open = parts.length > 0
  const shown = rows.filter(row => !row.hidden).length
  line.querySelector('[role=status]').textContent = shown ? parts.length ? `${shown} of ${rows.length}` : '' : 'nothing of this name'
})
