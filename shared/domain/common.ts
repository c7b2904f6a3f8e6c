import { z } from 'zod'

// Fragments from which REST bodies, resources and tables are composed. A fragment has a type, its limits and the
// description that users read; a view adds what is its own: default, optional, examples.

/** Text of at most `max` Unicode code points, as the contract and the API server count. `length` counts UTF-16 units. */
export const codePoints = (max: number) =>
  z
    .string()
    .refine((text) => [...text].length <= max, `must have at most ${max} characters`)
    .meta({ maxLength: max })

const maxMapEntries = 256

/** A map from text to text: at most 256 entries, keys of 1 to 256 and values of at most 4,096 characters. */
const textMap = () =>
  z
    .record(z.string().min(1).max(256), z.string().max(4096))
    .refine((map) => Object.keys(map).length <= maxMapEntries, `must have at most ${maxMapEntries} entries`)
    .meta({ maxProperties: maxMapEntries })

/** Annotations and labels that users keep on a REST resource. They never become Kubernetes annotations or labels. */
export const metadataFields = {
  annotations: textMap().describe('Arbitrary notes of the owner. Orrery stores them and does not interpret them.'),
  labels: textMap().describe('Arbitrary marks of the owner. Orrery stores them and does not select by them.'),
}

/** Arguments of a container: at most 64, of at most 4,096 characters each. */
export const containerArgs = z
  .array(z.string().max(4096))
  .max(64)
  .describe("Arguments to the image's entry point. References such as $(NAME) are passed on unexpanded.")

/** The length of a run in minutes, also fractions of them: above 0, at most 5,256,000 (10 years). */
export const durationMinutes = z.number().gt(0).max(5_256_000)
