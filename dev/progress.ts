/** Receives a line of progress from a long operation. */
export type Progress = (line: string) => void
