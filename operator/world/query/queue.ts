import type { QueryResult, ServerReport } from './answer.ts'

const maxCount = 1_000_000
const maxTextLength = 64
/** The beginning of a text that is cleaned. The rest of a longer one is not read. */
const maxReadLength = 1_024

type Answered = Extract<QueryResult, { kind: 'answered' }>

/** Returns a whole number from 0 to `max`, which is the number itself if it is one. */
const toCount = (reported: number, max = maxCount): number =>
  Number.isNaN(reported) ? 0 : Math.max(0, Math.min(max, Math.floor(reported)))

/** Removes the colour codes of Minecraft, and characters that would change how the text around them is shown. */
const cleanText = (text = ''): string | undefined => {
  const clean = text
    .slice(0, maxReadLength)
    .toWellFormed()
    .replaceAll(/\u{a7}./gsu, '')
    .replaceAll(/\p{Cf}/gu, '')
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
  return [...clean].slice(0, maxTextLength).join('').trim() || undefined
}

/**
 * Returns the queue that a status shows for a report, whatever the server sent: whole numbers that are not negative, no more players
 * than the capacity of the world, and short texts. Bots are no players. `note` is a sentence for each number that was corrected.
 */
export const toQueue = (report: ServerReport, capacity: number): Omit<Answered, 'kind'> => {
  const { players, queued = 0 } = report
  const bots = toCount(report.bots ?? 0)
  const active = toCount(players - bots, capacity)
  const waiting = toCount(queued)
  const isUncertain = (active === 0 && players - bots !== 0) || (waiting === 0 && queued !== 0)
  const slots = report.capacity === undefined ? undefined : toCount(report.capacity)
  const [version, map] = [cleanText(report.version), cleanText(report.map)]
  const note = [
    ...(active === players - bots ? [] : [noteOfPlayers({ players, bots, active, capacity })]),
    ...(waiting === queued ? [] : [`The server reported ${queued} waiting players, so ${waiting} are shown.`]),
    ...(slots === report.capacity
      ? []
      : [`The server reported a capacity of ${report.capacity}, so ${slots} is shown.`]),
  ].join(' ')
  return {
    queue: {
      active,
      queued: waiting,
      ...(slots !== undefined && { capacity: slots }),
      ...(version !== undefined && { version }),
      ...(map !== undefined && { map }),
    },
    ...(note !== '' && { note }),
    ...(isUncertain && { isUncertain }),
  }
}

type Corrected = {
  readonly players: number
  readonly bots: number
  readonly active: number
  readonly capacity: number
}

const noteOfPlayers = ({ players, bots, active, capacity }: Corrected): string => {
  const reported = `The server reported ${players} players${bots === 0 ? '' : ` with ${bots} bots among them`}`
  const reason = players - bots > capacity ? `, more than the capacity of ${capacity} of the world` : ''
  return `${reported}${reason}, so ${active} are shown.`
}
