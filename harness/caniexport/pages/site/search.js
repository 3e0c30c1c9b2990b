// The search of the copy: Pagefind looks in pagefind/ for the words typed; of a pasted error, for those of its message.
(async () => {
  const [box, out, start] = ['#q', '#found', '#start'].map(name => document.querySelector(name))
  const made = name => document.querySelector(name).content.cloneNode(true)
  const pagefind = await import('./pagefind/pagefind.js').catch(() => null)
  if (!pagefind) return out.append(made('#no-server'))
  const read = text => {
    const message = text.split(/\w*(?:Error|Exception): /).pop()
    if (message === text && !text.includes('\n')) return [text.split(/\s+/)]
    // Pagefind wants every word: without numbers and paths a message has those of others of its kind
    const words = message.replace(/\S*[\d/\\]\S*|[^\w\s.:]/g, ' ').split(/\s+/).filter(Boolean)
    return [14, 8, 5, 3].map(most => words.slice(0, most))
  }
  const find = async words => {
    const pages = await Promise.all((await pagefind.search(words.join(' '))).results.slice(0, 20).map(hit => hit.data()))
    // Pagefind shortens a word that it does not know until it knows one
    return pages.filter(page => words.some(word => page.content.toLowerCase().includes(word.toLowerCase().slice(0, 4))))
  }
  const show = ({url, meta, excerpt}) => {
    const hit = made('#hit')
    Object.assign(hit.querySelector('a'), {href: url, textContent: meta.title})
    hit.querySelector('.said').innerHTML = excerpt
    return hit
  }
  const search = async () => {
    const text = box.value.trim()
    let pages = []
    for (const words of text ? read(text) : []) if (!pages.length) pages = await find(words)
    if (text !== box.value.trim()) return
    history.replaceState({}, '', text ? `?q=${encodeURIComponent(text.slice(-600))}` : location.pathname)
    start.hidden = Boolean(text)
    out.replaceChildren(...pages.map(show), ...text && !pages.length ? [made('#nothing')] : [])
  }
  box.addEventListener('input', search)
  box.value = new URLSearchParams(location.search).get('q') ?? ''
  search()
})()
