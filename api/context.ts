import type { Principal } from '#api/auth/principal.ts'
import type { Database } from '#api/db/client.ts'
import type { Clock } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'

/** What verbs work with; made once a process. */
export type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
  readonly publicUrl: string
  /** Wakes the push to the cluster; called after a commit that left something dirty. */
  readonly wakeSync: () => void
}

/** What one request adds: who asks, and in which scope. A header that was not given is ''. */
export type Context = Deps & {
  readonly principal: Principal
  readonly organizationId: string
  readonly projectId: string
}
