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
    setTimeout(() => { button.textContent = words }, 1500)
  })
}
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
