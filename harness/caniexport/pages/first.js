// Streamlit's scripts once the answer has been painted; the app takes over, at the same place, when it shows the same.
(() => {
  const first = document.getElementById('first'), wanted = '#root ' + first.dataset.until
  // as nav.js has it: of many releases the newest are seen first
  first.querySelectorAll('.scroll:has(> .matrix.many)').forEach(box => { box.scrollLeft = box.scrollWidth })
  const load = () => document.querySelectorAll('template[data-later]').forEach(held => {
    const given = held.content.firstElementChild
    // a script that is moved would not run: it must be made anew
    const made = document.createElement(given.tagName)
    for (const {name, value} of given.attributes) made.setAttribute(name, value)
    held.replaceWith(made)
  })
  requestAnimationFrame(() => setTimeout(load))
  // nothing is painted in a tab that is not looked at
  setTimeout(load, 1000)
  const look = () => {
    const drawn = document.querySelector('[data-testid=stApp][data-test-script-state=notRunning] header.page')
    // or the app has something else to say
    if (!document.querySelector(wanted) && !drawn && !document.querySelector('#root [data-testid=stAlert]')) return
    seen.disconnect()
    const main = document.querySelector('[data-testid=stMain]')
    if (main && first.scrollTop) main.scrollTop = first.scrollTop
    // the app's own style may come a moment later
    document.head.append(first.querySelector('style'))
    first.remove()
  }
  const seen = new MutationObserver(look)
  seen.observe(document.body, {childList: true, subtree: true, attributeFilter: ['data-test-script-state']})
})()
