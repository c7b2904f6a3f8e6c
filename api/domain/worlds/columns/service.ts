import { worlds } from '#api/domain/worlds/table.ts'
import { preparedUpdate } from '#api/platform/database/prepared.ts'

/** Updates columns of the world with an id. */
export const updateColumns = preparedUpdate(worlds, 'world')
