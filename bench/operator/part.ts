import type { Transport } from '#shared/kube/transport.ts'
import type { BenchCluster } from './cluster.ts'
import type { Objects } from './objects.ts'

/** The input of a part of the bench. */
export type Bench = {
  readonly transport: Transport
  readonly objects: Objects
  readonly startOperator: BenchCluster['startOperator']
  /** Returns a number from the environment, or the default `usual`. */
  count(variable: string, usual: number): number
  /** Prints a figure, and whether it meets its goal if there is one. */
  say(what: string, figure?: string, met?: boolean, goal?: string): void
}

/** A part of the bench. It stops every operator that it starts. */
export type Part = (bench: Bench) => Promise<void>
