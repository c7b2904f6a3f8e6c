import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Usage as UsageAnswer } from '#client/operations.ts'
import { formatCount } from '#console/state/format.ts'
import { type Bar, type Level, toBars, toOthers } from '#console/state/usage.ts'
import { hrefOf, place } from '../../live/location.ts'
import { unversioned } from '../../live/organization.ts'
import type { Session } from '../../live/session.ts'
import { Permitted } from '../Permitted.tsx'
import { Loaded, Said } from '../pieces.tsx'
import { useLoader } from '../useLoader.ts'

/** Every limit of the organization with its use. */
export const Usage = ({ session }: { readonly session: Session }) => (
  <Permitted session={session} operationId="getUsage" what="the usage of the organization">
    <Limits session={session} />
  </Permitted>
)

const Limits = ({ session }: { readonly session: Session }) => {
  const { slot, load } = useLoader((signal) => session.client.getUsage({ signal }), unversioned)
  return (
    <Loaded slot={slot.value} what="The usage" onRetry={load}>
      {(usage) => <Bars usage={usage} />}
    </Loaded>
  )
}

const Bars = ({ usage }: { readonly usage: UsageAnswer }) => (
  <>
    <p class="muted">
      The operators of the platform set the limits. A bar is marked from 80 %, and at 100 % the API refuses more.
    </p>
    <ul class="limits" aria-label="Limits with their use">
      {toBars(usage).map((bar) => (
        <Limit key={bar.name} name={bar.name} title={bar.title} kind={`level-${bar.level}`}>
          <Use bar={bar} />
        </Limit>
      ))}
    </ul>
    <h2>Other limits</h2>
    <ul class="limits" aria-label="Limits without a use">
      {toOthers(usage).map(({ name, title, text }) => (
        <Limit key={name} name={name} title={title} kind="">
          <p>
            <Said text={text} />
          </p>
        </Limit>
      ))}
    </ul>
  </>
)

/** A limit. The keyboard and the view go to it if the address bar names it. */
const Limit = ({
  name,
  title,
  kind,
  children,
}: {
  readonly name: string
  readonly title: string
  readonly kind: string
  readonly children: ComponentChildren
}) => {
  const element = useRef<HTMLLIElement>(null)
  const isWanted = place.value.limit === name
  useEffect(() => {
    if (!isWanted) return
    element.current?.scrollIntoView({ block: 'center' })
    element.current?.focus({ preventScroll: true })
  }, [isWanted])
  return (
    <li ref={element} tabIndex={-1} class={`limit ${kind}`} aria-current={isWanted ? 'true' : undefined}>
      <div class="limit-head">
        <h3>{title}</h3>
        <a href={hrefOf({ limit: name })} aria-label={`Link to the limit ${name}`}>
          <code>{name}</code>
        </a>
      </div>
      {children}
    </li>
  )
}

const levelTexts: Readonly<Record<Level, string>> = {
  ok: '',
  near: '▲ Nearly used up',
  full: '■ Used up',
  none: 'Not allowed',
}

const Use = ({ bar: { meaning, text, percent, level } }: { readonly bar: Bar }) => (
  <>
    <p class="limit-use">
      <strong>{text}</strong> <span class="muted">{level !== 'none' && `${formatCount(percent)} %`}</span>
      <span class="limit-level">{levelTexts[level]}</span>
    </p>
    <div class="bar" aria-hidden="true">
      <div style={{ width: `${Math.min(100, percent)}%` }} />
    </div>
    <p class="muted small">{meaning}</p>
  </>
)
