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
