import type { ApiKey } from '#client/operations.ts'
import { isRotating, type KeyState, stateOf } from '#console/state/keys.ts'
import { describeClaims, describePermission } from '#console/state/permissionWords.ts'
import { toVisible } from '#console/state/visible.ts'
import { now } from '../../live/fleet.ts'
import { projectName } from '../../live/organization.ts'
import type { Session } from '../../live/session.ts'
import { Several } from '../audit/Several.tsx'
import { Age, Said, Scrolled, Time } from '../pieces.tsx'

type Shared = {
  readonly session: Session
  /** The ids of the notes that say why no key can be deleted, if none can, and why a managed one cannot. */
  readonly noteIds: { readonly any?: string; readonly managed?: string }
  readonly onDelete: (key: ApiKey) => void
}

/** API keys: their state, their permissions in words, their last use. */
export const KeyTable = ({ keys, ...shared }: { readonly keys: readonly ApiKey[] } & Shared) => (
  <Scrolled label="Table of keys">
    <table class="stacked">
      <thead>
        <tr>
          <th scope="col">Key</th>
          <th scope="col">State</th>
          <th scope="col">Permissions</th>
          <th scope="col">Last use</th>
          <th scope="col">Actions</th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <KeyRow key={key.documentId} apiKey={key} {...shared} />
        ))}
      </tbody>
    </table>
  </Scrolled>
)

const KeyRow = ({ apiKey, session, noteIds, onDelete }: { readonly apiKey: ApiKey } & Shared) => {
  const { documentId, displayName, lastUsedAt, isManagedByProvisioner } = apiKey
  const noteId = noteIds.any ?? (isManagedByProvisioner ? noteIds.managed : undefined)
  const isDisabled = noteId !== undefined
  return (
    <tr>
      <th scope="row" class="wide">
        <Said text={displayName} />
        <span class="notes">
          <code class="id">{documentId}</code>
          {documentId === session.credential.id && <span class="label">This sign-in</span>}
          {isManagedByProvisioner && <span class="label">Managed by the provisioner</span>}
        </span>
      </th>
      <td data-name="State" class="wide">
        <State apiKey={apiKey} />
      </td>
      <td class="wide key-permissions">
        <Permissions apiKey={apiKey} organizationId={session.organizationId} />
      </td>
      <td data-name="Last use">
        {lastUsedAt === undefined ? (
          <span class="muted">Never</span>
        ) : (
          <>
            <Age at={lastUsedAt} /> ago
          </>
        )}
      </td>
      <td>
        <button
          type="button"
          aria-label={`Delete ${toVisible(displayName)}`}
          aria-disabled={isDisabled}
          aria-describedby={noteId}
          onClick={() => {
            if (!isDisabled) onDelete(apiKey)
          }}
        >
          Delete
        </button>
      </td>
    </tr>
  )
}

// A state has a word, a shape and a colour, so that nobody depends on colours.
const looks: Readonly<Record<KeyState['kind'], readonly [className: string, shape: string]>> = {
  good: ['key-good', '●'],
  near: ['key-near', '▲'],
  warning: ['is-warning', '▲'],
  muted: ['muted', '○'],
}

const State = ({ apiKey }: { readonly apiKey: ApiKey }) => {
  const { text, kind } = stateOf(apiKey, now.value)
  const [className, shape] = looks[kind]
  return (
    <>
      <span class={className}>
        <span aria-hidden="true">{shape}</span> {text}
      </span>
      {apiKey.expiresAt !== undefined && (
        <p class="muted small">
          Expiry <Time at={apiKey.expiresAt} />
        </p>
      )}
      {isRotating(apiKey, now.value) && (
        <p class="small">
          Rotation: the replaced string is valid until <Time at={apiKey.previousValidUntil} />
        </p>
      )}
    </>
  )
}

const Permissions = ({ apiKey, organizationId }: { readonly apiKey: ApiKey; readonly organizationId: string }) => {
  const { permissions, claims, allowedNetworks } = apiKey
  const words = [
    ...permissions.map((each) => ({ text: describePermission(each, { organizationId, projectName }), title: each })),
    ...describeClaims(claims).map((text) => ({ text, title: 'Claim' })),
    ...(allowedNetworks === undefined ? [] : [{ text: `Only from ${allowedNetworks.join(', ')}`, title: 'Networks' }]),
  ]
  if (words.length === 0) return <span class="muted">None</span>
  return (
    <Several
      items={words.map(({ text, title }) => (
        <span key={title} title={toVisible(title)}>
          <Said text={text} />
        </span>
      ))}
    />
  )
}
