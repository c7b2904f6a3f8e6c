/** Returns the query of the next page from a `Link` header (RFC 8288), or undefined on the last page. */
export const nextQuery = (link: string | null): Record<string, string[]> | undefined => {
  for (const [, target = '', parameters = ''] of (link ?? '').matchAll(/<([^>]*)>([^,]*)/g)) {
    const relations = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;]+))/i.exec(parameters)
    if (!(relations?.[1] ?? relations?.[2] ?? '').split(/\s+/).includes('next')) continue
    // Only the query of the link is used, so that no response can send the credential to another address.
    const query = new URLSearchParams(target.split('#')[0]?.split('?').slice(1).join('?') ?? '')
    return Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)]))
  }
  return undefined
}
