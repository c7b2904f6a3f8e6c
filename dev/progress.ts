/** Where something that takes long says what it is doing, a line at a time. */
export type Progress = (line: string) => void
