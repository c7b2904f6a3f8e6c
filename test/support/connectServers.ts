import { connectServers } from './servers.ts'

await connectServers()
