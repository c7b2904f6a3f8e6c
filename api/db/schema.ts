export { clusterOutbox } from '#api/cluster/table.ts'
export { organizations } from '#api/organizations/table.ts'
export { projects } from '#api/projects/table.ts'
export { deployments, launchContexts, worlds } from '#api/worlds/table.ts'
