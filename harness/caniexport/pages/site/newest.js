// The heads of a table stay in the window while its rows go by.
addEventListener('scroll', () => {
  for (const table of document.querySelectorAll('.scroll > table')) {
    const {top, bottom} = table.getBoundingClientRect()
    table.style.setProperty('--down', `${top < 0 && bottom > 2 * table.tHead.offsetHeight ? -top : 0}px`)
  }
}, {passive: true})
// Of many releases the newest are seen first.
for (const box of document.querySelectorAll('.scroll')) {
  if (box.querySelector('.matrix.many')) box.scrollLeft = box.scrollWidth
}
// A table is narrowed while somebody types: every word has to be in a row's own.
addEventListener('input', event => {
  if (!event.target.matches('input.narrow')) return
  const parts = event.target.value.toLowerCase().split(/\s+/).filter(Boolean)
  const line = event.target.closest('p'), rows = [...line.parentElement.querySelectorAll('table.narrowed tbody tr')]
  for (const row of rows) row.hidden = !parts.every(part => row.dataset.words.includes(part))
  line.querySelector('[role=status]').textContent = parts.length ? `${rows.filter(row => !row.hidden).length} of ${rows.length}` : ''
})
