import type { Command } from 'commander';
import type { Start } from '../session.ts';
import { addBanks } from './banks.ts';
import { addCallbacks } from './callbacks.ts';
import { addCheck } from './check.ts';
import { addCheckFile } from './check-file.ts';
import { addCompletion } from './completion.ts';
import { addDoctor } from './doctor.ts';
import { addEvents } from './events.ts';
import { addList } from './list.ts';
import { addListen } from './listen.ts';
import { addLogin } from './login.ts';
import { addLogout } from './logout.ts';
import { addProfiles } from './profiles.ts';
import { addSandbox } from './sandbox.ts';
import { addStatus } from './status.ts';

const ALL = [
  addStatus,
  addCheck,
  addCheckFile,
  addList,
  addBanks,
  addEvents,
  addListen,
  addCallbacks,
  addDoctor,
  addLogin,
  addLogout,
  addProfiles,
  addSandbox,
  addCompletion,
];

/** Every command, in the order of the help. */
export function addCommands(program: Command, start: Start): void {
  for (const add of ALL) add(program, start);
}
