// Links of this app without a new page load, keys, and what a matrix does with arrows.
// Streamlit's sanitizer takes the target from a link: links out of the app are found by their origin
const inside = node => node.closest && node.closest('.stHtml a[href], .stMarkdown a[href]')
// a reader's setting goes along, also by Streamlit's own links between the pages and while the next page is awaited
let carried = ''
const carries = () => {
  const address = document.querySelector('[data-carries]')?.dataset.carries
  if (address) carried = new URL(address, location.href).search
  return carried
}
document.addEventListener('click', event => {
  const link = event.target.closest && event.target.closest('[data-testid=stTopNavLink], [data-testid=stSidebarNavLink]')
  if (!link || !carries() || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  event.stopPropagation()
  history.pushState({}, '', new URL(link.href).pathname + carries())
  dispatchEvent(new PopStateEvent('popstate', {state: {}}))
}, {capture: true})
// on a phone the menu covers the page that was chosen
document.addEventListener('click', event => {
  if (innerWidth >= 768 || !event.target.closest?.('[data-testid=stSidebarNavLink]')) return
  setTimeout(() => document.querySelector('[data-testid=stSidebarCollapseButton] button')?.click())
}, {capture: true})
// what a page is about; a link that changes anything else leaves a reader where they are
const subject = to => to.pathname + ['q', 'case', 'op', 'list'].map(name => to.searchParams.get(name))
// how far down that is, for Streamlit takes the page away before it draws it again
let left = 0
for (const kind of ['wheel', 'keydown', 'pointerdown']) addEventListener(kind, () => { left = 0 }, true)
const returned = () => {
  const main = left && document.querySelector('[data-testid=stMain]')
  if (main && main.scrollTop < left) main.scrollTop = left
}
document.addEventListener('click', event => {
  const link = inside(event.target)
  if (!link || link.target === '_blank' || link.hasAttribute('download') || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const to = new URL(link.href)
  if (to.origin !== location.origin || to.hash) return
  event.preventDefault()
  const main = document.querySelector('[data-testid=stMain]')
  const isOther = subject(to) !== subject(new URL(location))
  left = isOther ? 0 : main?.scrollTop
  history.pushState({}, '', to)
  // Streamlit draws the page of an address when the history moves
  dispatchEvent(new PopStateEvent('popstate', {state: {}}))
  if (isOther) main?.scrollTo(0, 0)
})
const typing = node => /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName) || node.isContentEditable
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return
  if (event.key === '/') {
    const box = document.querySelector('.st-key-url-q input')
    if (box) { event.preventDefault(); box.focus(); box.select() }
    return
  }
  const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key]
  if (!step || !event.target.closest) return
  // one stop of the tab key leads into a table; the arrows move inside
  const table = event.target.matches('.scroll') && event.target.querySelector('.matrix, .strip')
  const entered = table && table.querySelector('td a')
  if (entered) { event.preventDefault(); entered.focus(); return }
  const cell = event.target.closest('.scroll td, .scroll th')
  if (!cell) return
  const next = step[0] ? nextInRow(cell, step[0]) : along(cell, step[1])
  if (next) { event.preventDefault(); next.focus() }
})
// Streamlit names a part for nobody, and gives it a label and the focus all the same
const named = () => document.querySelectorAll('[data-testid=stFileUploaderDropzone][role=presentation]').forEach(box => { box.role = 'group' })
// filters that a reader has unfolded stay so on their page, though its heading is drawn anew after each choice
document.addEventListener('change', event => {
  if (event.target.matches?.('.fold input')) window.unfolded = event.target.checked ? location.pathname : ''
})
const unfolded = () => document.querySelectorAll('#root .fold input:not([data-seen])').forEach(box => {
  box.dataset.seen = '1'
  box.checked = window.unfolded === location.pathname
})
// what stands there until the app has drawn a page; Streamlit takes the page before, and every style, away first
const waiting = Object.assign(document.createElement('div'), {id: 'waiting'})
waiting.style.cssText = 'position: fixed; left: 2rem; right: 2rem; display: none; gap: 1rem; pointer-events: none; color: GrayText; font: 1rem/1.6 "Source Sans", sans-serif'
waiting.setAttribute('role', 'status')
waiting.append('Loading the page …', ...[46, 90, 90, 90, 70].map(width => {
  const bar = document.createElement('div')
  bar.style.cssText = `width: ${width}%; height: 1.4rem; border-radius: 4px; background: currentColor; opacity: 0.12`
  return bar
}))
document.body.append(waiting)
const awaited = () => {
  const isThere = document.querySelector('#root .body, #root [data-testid=stAlertContentError]')
  const last = isThere ? null : document.querySelector('#root .stMainBlockContainer > [data-testid=stVerticalBlock]')?.lastElementChild
  if (!isThere) waiting.style.top = `${Math.max(72, (last?.getBoundingClientRect().bottom ?? 0) + 16)}px`
  const display = isThere ? 'none' : 'grid'
  if (waiting.style.display !== display) waiting.style.display = display
}
const drawn = () => { drawnTables(); named(); unfolded(); awaited(); carries(); returned() }
new MutationObserver(drawn).observe(document.body, {childList: true, subtree: true})
drawn()
const along = (cell, by) => {
  for (let next = cell; (next = by > 0 ? next.nextElementSibling : next.previousElementSibling);) {
    const link = next.querySelector('a')
    if (link) return link
  }
}
const nextInRow = (cell, by) => {
  const place = [...cell.parentElement.querySelectorAll('td')].indexOf(cell)
  if (place < 0) return null
  for (let row = cell.parentElement; (row = by > 0 ? row.nextElementSibling : row.previousElementSibling);) {
    const link = row.querySelectorAll('td')[place]?.querySelector('a')
    if (link) return link
  }
}
