// The cells of a large table are made where its rows come into sight: a browser needs seconds for tens of thousands.
// A row has them as numbers of `data-kinds`, those of equal neighbours once: "3*12 4 5*3".
if (!window.cells) {
  const parsed = new WeakMap()
  // class, text and hint of each kind of cell
  const kinds = table => {
    if (!parsed.has(table)) parsed.set(table, JSON.parse(table.dataset.kinds))
    return parsed.get(table)
  }
  const make = (kind, [css, text]) => {
    const cell = document.createElement('td')
    cell.className = css
    cell.dataset.kind = kind
    cell.textContent = text
    return cell
  }
  const draw = row => {
    const given = row?.dataset.cells
    if (!given) return
    row.removeAttribute('data-cells')
    const known = kinds(row.closest('table'))
    const runs = given.split(' ').map(run => run.split('*'))
    row.lastElementChild.replaceWith(...runs.flatMap(([kind, count = 1]) => Array.from({length: count}, () => make(kind, known[kind]))))
  }
  const scroller = node => {
    for (let box = node.parentElement; box; box = box.parentElement) {
      if (/auto|scroll/.test(getComputedStyle(box).overflowY) && box.scrollHeight > box.clientHeight + 1) return box
    }
    return null
  }
  const watched = new WeakSet()
  const watch = () => document.querySelectorAll('table[data-kinds]').forEach(table => {
    // laid out: before that nothing scrolls
    if (watched.has(table) || !table.offsetHeight) return
    watched.add(table)
    const seen = new IntersectionObserver(found => {
      for (const {isIntersecting, target} of found) {
        if (!isIntersecting) continue
        seen.unobserve(target)
        draw(target)
      }
    }, {root: scroller(table), rootMargin: '1000px 0px'})
    table.querySelectorAll('tr[data-cells]').forEach(row => seen.observe(row))
  })
  const all = () => document.querySelectorAll('tr[data-cells]').forEach(draw)
  // paper has every row, and a reader's own search every text
  addEventListener('beforeprint', all)
  addEventListener('keydown', event => { if ((event.ctrlKey || event.metaKey) && event.key === 'f') all() })
  // the last columns of a box that scrolls, the first of them whole: what is hidden of it is taken from the names
  // beside it where that is little, else what is seen of it from the box
  const LITTLE = 18
  const newest = box => {
    box.style.maxWidth = ''
    box.style.setProperty('--less', '0px')
    box.scrollLeft = box.scrollWidth
    const stays = [...box.querySelectorAll('.matrix thead :is(th.case, th.by)')].filter(head => getComputedStyle(head).position === 'sticky')
    const begins = Math.max(...stays.map(head => head.getBoundingClientRect().right))
    const cut = [...box.querySelectorAll('.matrix thead th:not(.case, .by)')].map(head => head.getBoundingClientRect()).find(({left, right}) => left < begins - 1 && right > begins + 1)
    if (cut && box.scrollLeft && begins - cut.left < LITTLE) box.style.setProperty('--less', `${begins - cut.left}px`)
    else if (cut && box.scrollLeft) box.style.maxWidth = `${box.offsetWidth - (cut.right - begins)}px`
    box.scrollLeft = box.scrollWidth
    box.dataset.ends = box.scrollLeft
    widths.observe(box)
    widths.observe(box.firstElementChild)
  }
  // columns are wider in another font or style, and more of them are seen in a wider box
  const again = box => {
    const isThere = Math.abs(box.scrollLeft - box.dataset.ends) < 2 || box.scrollLeft + box.clientWidth > box.scrollWidth - 2
    if (isThere) newest(box)
  }
  const widths = new ResizeObserver(seen => requestAnimationFrame(() => seen.forEach(({target}) => again(target.closest('.scroll')))))
  addEventListener('resize', () => document.querySelectorAll('.scroll[data-ends]').forEach(again))
  window.cells = {draw, kinds, newest, watch}
}
