import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answered, CallFailure } from '../api/request.ts';
import type { Proposal } from '../generated/api.ts';
import { say, type Text } from '../preferences.ts';
import { address } from '../router.ts';
import { TEXTS } from '../texts.ts';
import { Failure } from './failure.tsx';

const REASON: Text = { en: 'Why? It is recorded with your name.', id: 'Mengapa? Dicatat bersama nama Anda.' };
const REASON_EXAMPLE: Text = { en: 'Ticket 4711: the customer asks', id: 'Tiket 4711: nasabah bertanya' };
const WORKING: Text = { en: 'Working …', id: 'Sedang diproses …' };

const PROPOSED: Text = {
  en: 'Proposed: another person must approve it.',
  id: 'Diusulkan: orang lain harus menyetujuinya.',
};

/** As the service has it. */
const REASON_LENGTH_MIN = 5;
const REASON_LENGTH_MAX = 500;

export interface ActionProps {
  /** On the button, and the title of the dialog. */
  readonly title: string;
  readonly description: string;
  /** Sends the action. What was done is shown beside the button, or the proposal that waits for a second person. */
  readonly run: (reason: string) => Promise<string | Proposal>;
  readonly onDone?: () => void;
  /** Before the dialog opens: its fields begin anew. */
  readonly onOpen?: () => void;
  /** Further fields of the dialog. */
  readonly children?: ComponentChildren;
  /** For the button, and the title of the dialog, where several have the same title. */
  readonly label?: string;
}

/** What `run` resolves to, of an answer that may be a proposal. */
export const outcomeOf = <Done,>(answer: Answered<Done>, sayDone: (done: Done) => string): string | Proposal =>
  'proposal' in answer ? answer.proposal : sayDone(answer.done);

/** A button that opens a dialog, which asks for the reason and sends the action. */
export function Action(props: ActionProps) {
  const [isOpen, setOpen] = useState(false);
  const [result, setResult] = useState<string | Proposal | null>(null);
  const done = (answer: string | Proposal): void => {
    setOpen(false);
    setResult(answer);
    props.onDone?.();
  };
  const open = (): void => {
    props.onOpen?.();
    setOpen(true);
  };
  return (
    <span class="action">
      <button type="button" onClick={open} {...(props.label === undefined ? {} : { 'aria-label': props.label })}>
        {props.title}
      </button>
      <output class="small">
        {typeof result === 'string' || result === null ? (
          result
        ) : (
          <a href={address(['proposals', result.proposal_id])}>{say(PROPOSED)}</a>
        )}
      </output>
      {isOpen && <ActionDialog {...props} onResult={done} onClose={() => setOpen(false)} />}
    </span>
  );
}

interface DialogProps extends ActionProps {
  readonly onResult: (answer: string | Proposal) => void;
  readonly onClose: () => void;
}

function ActionDialog({ title, label = title, description, run, children, onResult, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [reason, setReason] = useState('');
  const [isWorking, setWorking] = useState(false);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  useEffect(() => dialog.current?.showModal(), []);

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    setWorking(true);
    setFailure(null);
    try {
      onResult(await run(reason.trim()));
    } catch (error) {
      setFailure(error instanceof CallFailure ? error : new CallFailure(String(error), {}));
      setWorking(false);
    }
  }

  return (
    <dialog ref={dialog} onClose={onClose} aria-label={label}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>{label}</h2>
        <p>{description}</p>
        {children}
        <label>
          {say(REASON)}
          <textarea
            required
            rows={2}
            minLength={REASON_LENGTH_MIN}
            maxLength={REASON_LENGTH_MAX}
            placeholder={say(REASON_EXAMPLE)}
            value={reason}
            onInput={(event) => setReason(event.currentTarget.value.replaceAll(/\s+/g, ' '))}
          />
        </label>
        {failure !== null && <Failure failure={failure} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            {say(TEXTS.cancel)}
          </button>
          <button type="submit" class="primary" disabled={isWorking}>
            {isWorking ? say(WORKING) : title}
          </button>
        </div>
      </form>
    </dialog>
  );
}
