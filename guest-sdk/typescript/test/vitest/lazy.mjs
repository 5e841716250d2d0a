// Imported by a handler while it runs.
export const value = "lazy";
