// A setup file: ends a worker when its runner has ended, even by SIGKILL. The servers that the worker started end with it.
process.once('disconnect', () => process.exit(1))
