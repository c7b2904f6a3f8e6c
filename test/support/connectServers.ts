import './endWithRunner.ts'
import { connectServers } from './servers.ts'

await connectServers()
