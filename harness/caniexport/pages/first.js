// Streamlit's page, kept in a template until the answer has been painted; it takes over when it has drawn the same.
(() => {
  const first = document.getElementById('first')
  cells.watch()
  // as nav.js has it: of many releases the newest are seen first
  first.querySelectorAll('.scroll:has(> .matrix.many:not(.chosen))').forEach(cells.newest)
  const load = () => {
    const held = document.getElementById('app')
    if (!held) return
    held.remove()
    // where its server is: else it asks below this page's own address first
    window.__streamlit = {BACKEND_BASE_URL: new URL('./', location.href).href}
    for (const given of held.content.querySelectorAll('link, style, script[src], div')) {
      // a script that is moved would not run: it must be made anew
      const made = document.createElement(given.tagName)
      for (const {name, value} of given.attributes) made.setAttribute(name, value)
      made.textContent = given.textContent
      ;(given.tagName === 'DIV' ? document.body : document.head).append(made)
    }
  }
  // in the frame after the one that paints it: what is loaded then holds the browser for a second
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(load)))
  // nothing is painted in a tab that is not looked at
  setTimeout(load, 1000)
  const look = () => {
    // or the app has something else to say; what somebody is typing stays
    if (!document.querySelector('#root .body, #root [data-testid=stAlertContentError]') || first.querySelector('form :focus')) return
    // filters whose scripts have not come are lower than they will be
    if (document.querySelector('#root [data-testid=stSkeleton]')) return
    seen.disconnect()
    setTimeout(take, 50)
  }
  const take = () => {
    if (first.querySelector('form :focus')) return
    const main = document.querySelector('[data-testid=stMain]')
    if (main && first.scrollTop) main.scrollTop = first.scrollTop
    const isNarrowing = first.querySelector('input.narrow:focus')
    first.remove()
    if (isNarrowing) document.querySelector('#root input.narrow')?.focus()
  }
  // what somebody types to narrow a table goes on in the app (nav.js)
  first.addEventListener('input', event => {
    if (event.target.matches('input.narrow')) window.narrowing = {at: location.href, words: event.target.value}
  })
  const seen = new MutationObserver(look)
  seen.observe(document.body, {childList: true, subtree: true})
  first.addEventListener('focusout', () => setTimeout(look))
})()
