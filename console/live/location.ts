import { effect, signal } from '@preact/signals'
import { type Place, parsePlace, toPath } from '#console/state/route.ts'
// The answer of an issuer is taken out of the address before the place is read.
import './returned.ts'

const read = (): Place => parsePlace(new URL(location.href))

const current = signal(read())
addEventListener('popstate', () => {
  clearTimeout(timer)
  timer = undefined
  current.value = read()
})

/** The place that the address bar shows. */
export const place = current as { readonly value: Place }

/** The project of the fleet or launch that was shown last. The place of a world always has a project, so it cannot tell. */
export const fleetProject = signal('')
effect(() => {
  const { projectId, worldId, page } = current.value
  if (worldId === '' && (page === 'fleet' || page === 'launch')) fleetProject.value = projectId
})

/** The pause between two replacements of the URL. Browsers refuse more than about 100 in 30 s. */
const pauseMs = 400
let timer: ReturnType<typeof setTimeout> | undefined

/** Writes the present place to the address bar. */
const write = (): void => {
  clearTimeout(timer)
  timer = undefined
  history.replaceState(null, '', toPath(current.value))
}

/**
 * Goes to a place that differs from the present one in some members. `isReplaced` leaves no entry in the history; the address bar
 * follows within `pauseMs`.
 */
export const goTo = (change: Partial<Place>, { isReplaced = false } = {}): void => {
  const next = { ...current.value, ...change }
  if (isReplaced) {
    current.value = next
    timer ??= setTimeout(write, pauseMs)
  } else open(toPath(next))
}

/** Opens a path of the console. The entry of the history that it leaves has the place as it was. */
const open = (path: string): void => {
  if (timer !== undefined) write()
  history.pushState(null, '', path)
  current.value = read()
}

/** Returns the URL of a place that differs from the present one in some members, for links. */
export const hrefOf = (change: Partial<Place>): string => toPath({ ...current.value, ...change })

/**
 * Lets plain clicks on links within the console change the place without a load. Other clicks act as for any link. Call it once.
 */
export const startNavigation = (): void => {
  document.addEventListener('click', (event) => {
    const isPlain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (!isPlain || event.defaultPrevented || link === null || link.target !== '' || link.hash !== '') return
    if (link.origin !== location.origin || !link.pathname.startsWith('/console/')) return
    event.preventDefault()
    open(link.href)
  })
}
