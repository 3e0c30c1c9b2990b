// Links of this app without a new page load, keys, and what a matrix does with arrows.
// One listener for the whole session: Streamlit runs this again whenever it draws the element anew.
if (!window.caniexport) {
  window.caniexport = true
  // Streamlit's sanitizer takes the target from a link: what leads out of the app is told by its origin
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
  document.addEventListener('click', event => {
    const button = event.target.closest && event.target.closest('button.copy')
    if (!button) return
    const words = button.textContent
    navigator.clipboard.writeText(button.matches('.link') ? address() : button.nextElementSibling.textContent).then(() => {
      button.textContent = 'Copied'
      setTimeout(() => { button.textContent = words }, 4000)
    })
  })
  const address = () => {
    const narrow = document.querySelector('#root input.narrow')?.value
    return narrow ? new URL(`#${new URLSearchParams({narrow})}`, location).href : location.href
  }
  // a table is narrowed while somebody types: every word has to be in a row's own
  const narrow = input => {
    const parts = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    const line = input.closest('p'), rows = [...line.parentElement.querySelectorAll('table.narrowed tbody tr')]
    for (const row of rows) row.hidden = !parts.every(part => row.textContent.toLowerCase().includes(part))
    const shown = rows.filter(row => !row.hidden).length, told = shown ? `${shown} of ${rows.length}` : 'nothing of this name'
    for (const fold of line.parentElement.querySelectorAll('details:has(table.narrowed)')) fold.open = parts.length > 0
    line.querySelector('[role=status]').textContent = parts.length ? told : ''
  }
  document.addEventListener('input', event => {
    if (!event.target.matches?.('input.narrow')) return
    window.narrowing = {at: location.href, words: event.target.value}
    narrow(event.target)
  })
  // what was typed goes on where the table is drawn anew: of other rows
  const narrowed = () => document.querySelectorAll('#root input.narrow:not([data-seen])').forEach(input => {
    input.dataset.seen = '1'
    const words = window.narrowing?.at === location.href ? window.narrowing.words : new URLSearchParams(location.hash.slice(1)).get('narrow')
    if (words === null) return
    input.value = words
    narrow(input)
  })
  const copies = () => document.querySelectorAll('.code:not(:has(.copy))').forEach(box => {
    box.prepend(Object.assign(document.createElement('button'), {className: 'copy', type: 'button', textContent: 'Copy'}))
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
    const next = step[0] ? beside(cell, step[0]) : along(cell, step[1])
    if (next) { event.preventDefault(); next.focus() }
  })
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
  document.addEventListener('scroll', event => { if (event.target.matches?.('.scroll')) beyond(event.target) }, {capture: true, passive: true})
  const boxes = () => document.querySelectorAll('.scroll:has(> .matrix):not([data-seen])').forEach(box => {
    box.dataset.seen = '1'
    sizes.observe(box)
  })
  const sizes = new ResizeObserver(seen => seen.forEach(({target}) => beyond(target)))
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
  const drawn = () => { boxes(); named(); narrowed(); unfolded(); copies(); awaited(); carries(); returned() }
  new MutationObserver(drawn).observe(document.body, {childList: true, subtree: true})
  drawn()
  // the heads of a table stay in the window while its rows go by
  const heads = () => document.querySelectorAll('.scroll > table').forEach(table => {
    const top = document.querySelector('[data-testid=stHeader]')?.getBoundingClientRect().bottom || 0
    const {top: begins, bottom: ends} = table.getBoundingClientRect()
    const down = begins < top && ends > top + 2 * table.tHead.offsetHeight ? top - begins - 1 : 0
    table.style.setProperty('--down', `${down}px`)
  })
  document.addEventListener('scroll', heads, {capture: true, passive: true})
  const along = (cell, by) => {
    for (let next = cell; (next = by > 0 ? next.nextElementSibling : next.previousElementSibling);) {
      const link = next.querySelector('a')
      if (link) return link
    }
  }
  const beside = (cell, by) => {
    const place = [...cell.parentElement.querySelectorAll('td')].indexOf(cell)
    if (place < 0) return null
    for (let row = cell.parentElement; (row = by > 0 ? row.nextElementSibling : row.previousElementSibling);) {
      const link = row.querySelectorAll('td')[place]?.querySelector('a')
      if (link) return link
    }
  }
}
