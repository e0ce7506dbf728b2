#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// What is imported after this starts faster the next time.
enableCompileCache();
const { runProgram } = await import('./program.ts');
process.exitCode = await runProgram(process.argv.slice(2), process);
