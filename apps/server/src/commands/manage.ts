export async function manage(_args: string[]): Promise<void> {}
