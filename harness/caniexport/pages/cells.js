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
  window.cells = {draw, kinds, watch}
}
