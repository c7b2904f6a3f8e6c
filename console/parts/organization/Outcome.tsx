import type { Requests } from '../../live/requests.ts'
import { FailureNotice } from '../FailureNotice.tsx'

/** Says what became of the last request of a button. `done` says what a request that succeeded has caused. */
export const Outcome = ({ requests, done }: { readonly requests: Requests; readonly done: string }) => {
  const outcome = requests.outcome.value
  return (
    <>
      <p role="status" class="outcomes">
        {requests.pending.value !== '' && 'Sending…'}
        {outcome !== undefined && outcome.error === undefined && done}
      </p>
      {outcome?.error !== undefined && <FailureNotice error={outcome.error} />}
    </>
  )
}
