import { randomInt } from 'node:crypto';

/**
 * `MsgId`, which no other message of the day may have (Max35Text): our BIC, the day, a number of this process's own, and a
 * count. 31 to 33 characters, so that two more make an id of a part of the message.
 */
export function createMessageIds(agentBic: string): (now: Date) => string {
  const process = randomInt(1_000_000).toString().padStart(6, '0');
  let count = 0;
  return (now) => {
    count = (count + 1) % 100_000_000;
    const day = now.toISOString().slice(0, 10).replaceAll('-', '');
    return `${agentBic}${day}${process}${count.toString().padStart(8, '0')}`;
  };
}
