import { type Column, columns } from './sort.ts'

/** Returns the columns that a list such as `phase,labels` names, in their order on screen. The name is always one. */
export const parseColumns = (text: string): Column[] => {
  const wanted = new Set(text.split(','))
  return columns
    .filter(({ name, isShownFirst }) => name === 'name' || (text === '' ? isShownFirst : wanted.has(name)))
    .map(({ name }) => name)
}

/** Returns the list of columns for the URL, with a column added or removed. Empty for the columns that are shown at first. */
export const toggleColumn = (text: string, column: Column): string => {
  const shown = new Set(parseColumns(text))
  if (!shown.delete(column)) shown.add(column)
  const list = columns.filter(({ name }) => shown.has(name)).map(({ name }) => name)
  const isDefault = list.join() === parseColumns('').join()
  return isDefault ? '' : list.join()
}
