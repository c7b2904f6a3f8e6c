import { parseTraceparent } from './traceparent.ts'

/** Values of attributes have at most 256 characters. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

/** The beginning of a span. */
export type SpanStart = {
  /** The `traceparent` of the parent span. An invalid one counts as absent. */
  readonly parent?: string | undefined
  /** The `traceparent` of a span that caused this one, but is of another trace. */
  readonly link?: string | undefined
  readonly kind?: 'server' | 'producer' | 'consumer' | 'internal'
  /** The time at which the span began. Default: now. */
  readonly startMs?: number | undefined
  readonly attributes?: Attributes
}

/** A span in progress. */
export type Span = {
  /** The `traceparent` for children of this span; undefined if the span is not sampled. */
  readonly traceparent: string | undefined
  /**
   * Ends the span. An error, or its type as a string, marks it as failed; messages are not recorded. `name` replaces the name
   * of the start. Later calls have no effect.
   */
  readonly end: (result?: {
    readonly name?: string
    readonly error?: unknown
    readonly attributes?: Attributes
  }) => void
}

/** Records spans and exports them. */
export type Tracing = {
  readonly isOn: boolean
  readonly start: (name: string, begin?: SpanStart) => Span
  /** Exports the ended spans, for at most 5 s. */
  readonly stop: () => Promise<void>
}

/** A span that is not recorded. */
export const noSpan: Span = { traceparent: undefined, end: () => undefined }

/** Records nothing. */
export const noTracing: Tracing = { isOn: false, start: () => noSpan, stop: async () => undefined }

/** Starts a span as the child of a parent. Without a valid parent it is not recorded. */
export const startChild = (tracing: Tracing, name: string, begin: SpanStart & { parent: string | undefined }): Span =>
  tracing.isOn && parseTraceparent(begin.parent) !== undefined ? tracing.start(name, begin) : noSpan

/** Runs an action in a span. Its errors are recorded and thrown. */
export const inSpan = async <T>(span: Span, action: (span: Span) => Promise<T>): Promise<T> => {
  try {
    const result = await action(span)
    span.end()
    return result
  } catch (error) {
    span.end({ error })
    throw error
  }
}
