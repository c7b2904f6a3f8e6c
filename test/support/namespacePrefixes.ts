/** The namespaces that the admission policies of the test clusters protect, as a regular expression of their prefixes. */
export const namespacePrefixes = '(orrery|fuzz|crash-(api|move)-[0-9]+)'
