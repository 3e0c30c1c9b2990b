// Of many releases the newest are seen first.
for (const box of document.querySelectorAll('.scroll')) {
  if (box.querySelector('.matrix.many')) box.scrollLeft = box.scrollWidth
}
