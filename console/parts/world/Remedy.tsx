import { remedyBeside } from '#console/state/texts.ts'
import { Said } from '../pieces.tsx'

/** The remedy of a message, unless the message itself says what to do. */
export const Remedy = ({ message, remedy }: { readonly message: string; readonly remedy: string | undefined }) => {
  const text = remedyBeside(message, remedy)
  return text === undefined ? null : (
    <p class="remedy">
      <Said text={text} />
    </p>
  )
}
