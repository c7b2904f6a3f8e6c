import { botDeploymentResource, worldResource } from '#shared/resources/group.ts'
import { podResource } from '../barePod.ts'
import { makeBarePods, rate } from './bare.ts'
import { worldName } from './objects.ts'
import type { Part } from './part.ts'
import { watchNamespace } from './seen.ts'

const namespace = 'bench-bots'
const perDeployment = 200
const readyMs = 1_800_000

/** Measures many bots of many deployments that are created at once. */
export const bots: Part = async ({ transport, objects, startOperator, say, count }) => {
  const wanted = count('ORRERY_BENCH_BOTS', 10_000)
  const deployments = Math.max(1, Math.ceil(wanted / perDeployment))
  const total = deployments * perDeployment
  const operator = await startOperator('bots')
  await objects.namespace(namespace)
  const live = await watchNamespace(transport, worldResource, namespace)
  await objects.startWorlds(namespace, deployments, 0, { scaling: { profile: 'Capacity250' } })
  await live.untilReady(deployments, readyMs)
  await live.stop()
  const bare = await makeBarePods(transport, objects, Math.min(1_000, total))
  const pods = await watchNamespace(transport, podResource, namespace)
  const known = pods.count()
  const seen = await watchNamespace(transport, botDeploymentResource, namespace)
  const start = await operator.usage()
  const startedMs = performance.now()
  await Promise.all(
    Array.from({ length: deployments }, (_, at) => objects.bots(namespace, `bots-${at}`, worldName(at), perDeployment)),
  )
  await seen.untilReady(deployments, readyMs)
  const end = await operator.usage()
  const madeMs = [...pods.made.values()].map((ms) => ms - startedMs).filter((ms) => ms > 0)
  const own = rate(madeMs)
  say(`${total} bots of ${deployments} deployments`)
  say('asked for → all Ready', `${((performance.now() - startedMs) / 1000).toFixed(0)} s`)
  say(
    'pods a second',
    `${own.toFixed(0)}; bare ${bare.podsPerSecond.toFixed(0)}: ${(own / bare.podsPerSecond).toFixed(2)} of bare`,
  )
  say('pods made', `${pods.count() - known}`, pods.count() - known === total, String(total))
  say('writes', `${((end.writes - start.writes) / total).toFixed(2)} a bot`)
  say('operator', `${(end.cpuSeconds - start.cpuSeconds).toFixed(1)} CPU s, ${end.rssMiB} MiB`)
  await seen.stop()
  await pods.stop()
  await operator.stop()
}
