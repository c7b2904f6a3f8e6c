/** The query of the next page that a `Link` header (RFC 8288) names, or undefined on the last page. */
export const nextQuery = (link: string | null): Record<string, string[]> | undefined => {
  for (const [, target = '', parameters = ''] of (link ?? '').matchAll(/<([^>]*)>([^,]*)/g)) {
    const relations = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;]+))/i.exec(parameters)
    if (!(relations?.[1] ?? relations?.[2] ?? '').split(/\s+/).includes('next')) continue
    // Of the link its query alone is followed, so that no answer can lead the credential to another address.
    const query = new URLSearchParams(target.split('#')[0]?.split('?').slice(1).join('?') ?? '')
    return Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)]))
  }
  return undefined
}
