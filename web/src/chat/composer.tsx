// Where messages are written: attachments, completion of agents and commands,
// drafts, the agent that is answered, stop.

import { ArrowUp, Paperclip, Square, X } from "lucide-react";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import type { Attachment } from "../api/types";
import { answer } from "../state/act";
import { notify, useStore, write } from "../state/store";
import { questions } from "../text/activity";
import { clean } from "../text/format";
import { IconButton } from "../ui/kit";
import { readFiles } from "./attach";
import { asked, matching, type Suggestion } from "./complete";

interface Props {
  draftKey: string;
  placeholder: string;
  send: (text: string, attachments: Attachment[]) => void;
  suggestions: Suggestion[];
  stop?: (() => void) | undefined;
  children?: ReactNode;
  autoFocus?: boolean;
}

const draftName = (key: string) => `cadre-draft-${key}`;

export function Composer({ draftKey, placeholder, send, suggestions, stop, children, autoFocus }: Props) {
  const [text, setText] = useState(() => localStorage.getItem(draftName(draftKey)) ?? "");
  const [files, setFiles] = useState<Attachment[]>([]);
  const [cursor, setCursor] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [dismissed, setDismissed] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const list = useId();
  const item = useStore((s) => (s.replying ? s.data.items[s.replying] : undefined));
  const replying = item?.status === "open" ? item : undefined;

  useEffect(() => {
    if (text) localStorage.setItem(draftName(draftKey), text);
    else localStorage.removeItem(draftName(draftKey));
  }, [text, draftKey]);

  const query = asked(text, cursor);
  const offers =
    query && dismissed !== text
      ? matching(
          suggestions.filter((s) => s.label.startsWith(query.sign)),
          query.text,
        )
      : [];
  const pick = (s: Suggestion) => {
    if (s.run) {
      setText("");
      s.run();
      return;
    }
    const next = `${text.slice(0, query?.from ?? 0)}${s.insert} ${text.slice(cursor).trimStart()}`;
    setText(next);
    area.current?.focus();
  };

  const submit = () => {
    const said = text.trim();
    if (!said && files.length === 0) return;
    if (replying) void answer(replying, { text: said });
    else send(said, files);
    write({ replying: "" });
    setText("");
    setFiles([]);
  };

  const attach = async (given: Iterable<File>) => {
    const { read, refused } = await readFiles(given);
    setFiles((f) => [...f, ...read].slice(0, 20));
    refused.forEach((r) => notify(r, { bad: true }));
  };

  const key = (e: React.KeyboardEvent<HTMLTextAreaElement>) => {
    if (offers.length > 0) {
      if (e.key === "ArrowDown" || e.key === "ArrowUp") {
        e.preventDefault();
        setChosen((chosen + (e.key === "ArrowDown" ? 1 : offers.length - 1)) % offers.length);
        return;
      }
      const offer = offers[chosen] ?? offers[0];
      if ((e.key === "Enter" || e.key === "Tab") && offer) {
        e.preventDefault();
        pick(offer);
        return;
      }
      if (e.key === "Escape") {
        e.stopPropagation();
        setDismissed(text);
        return;
      }
    }
    if (e.key === "Enter" && !e.shiftKey && !e.nativeEvent.isComposing) {
      e.preventDefault();
      submit();
    } else if (e.key === "Escape" && replying) {
      e.stopPropagation();
      write({ replying: "" });
    }
  };

  return (
    <div
      className="relative rounded-2xl border border-line bg-canvas focus-within:border-strong"
      onDragOver={(e) => e.preventDefault()}
      onDrop={(e) => {
        e.preventDefault();
        void attach(e.dataTransfer.files);
      }}
    >
      {offers.length > 0 && (
        <ul
          id={list}
          role="listbox"
          aria-label="Suggestions"
          className="appears absolute bottom-full left-2 z-30 mb-2 w-80 max-w-[90%] overflow-hidden rounded-lg border border-line bg-canvas p-1 shadow-lg"
        >
          {offers.map((o, i) => (
            <li
              key={o.label}
              id={`${list}-${i}`}
              role="option"
              aria-selected={i === chosen}
              onMouseDown={(e) => {
                e.preventDefault();
                pick(o);
              }}
              className={`flex cursor-pointer gap-2 rounded-md px-2 py-1.5 ${i === chosen ? "bg-hover" : ""}`}
            >
              <span className="font-medium">{o.label}</span>
              <span className="truncate text-faint">{o.hint}</span>
            </li>
          ))}
        </ul>
      )}
      {replying && (
        <div className="flex items-center gap-2 border-b border-line px-4 py-2 text-row">
          <span className="min-w-0 flex-1 truncate text-soft">
            Answering <b className="font-semibold text-text">{clean(replying.path)}</b>:{" "}
            {clean(questions(replying.action)[0]?.question ?? "")}
          </span>
          <IconButton label="Do not answer this" onClick={() => write({ replying: "" })}>
            <X size={14} />
          </IconButton>
        </div>
      )}
      {files.length > 0 && (
        <ul className="flex flex-wrap gap-2 px-3 pt-3" aria-label="Attachments">
          {files.map((f, i) => (
            <li key={i} className="flex items-center gap-1 rounded-md border border-line bg-surface py-0.5 pr-0.5 pl-2 text-small">
              {f.mediaType.startsWith("image/") && (
                <img alt="" src={`data:${f.mediaType};base64,${f.data}`} className="size-6 rounded object-cover" />
              )}
              <span className="max-w-40 truncate">{f.name}</span>
              <IconButton label={`Remove ${f.name}`} className="size-6" onClick={() => setFiles(files.filter((_, n) => n !== i))}>
                <X size={12} />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={area}
        data-composer
        rows={1}
        autoFocus={autoFocus}
        aria-label={replying ? `Answer to ${replying.path}` : "Message"}
        aria-controls={offers.length > 0 ? list : undefined}
        aria-activedescendant={offers.length > 0 ? `${list}-${chosen}` : undefined}
        aria-autocomplete="list"
        placeholder={replying ? "Your answer" : placeholder}
        value={text}
        onChange={(e) => {
          setText(e.target.value);
          setCursor(e.target.selectionStart);
          setChosen(0);
        }}
        onSelect={(e) => setCursor(e.currentTarget.selectionStart)}
        onKeyDown={key}
        onPaste={(e) => {
          if (e.clipboardData.files.length > 0) {
            e.preventDefault();
            void attach(e.clipboardData.files);
          }
        }}
        className="field-sizing-content block max-h-[40vh] min-h-12 w-full resize-none bg-transparent px-4 pt-3 pb-1 text-read outline-none placeholder:text-faint"
      />
      <div className="flex items-center gap-1 px-2 pb-2">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={(e) => {
            if (e.target.files) void attach(e.target.files);
            e.target.value = "";
          }}
        />
        <IconButton label="Attach pictures or text files" onClick={() => picker.current?.click()}>
          <Paperclip size={15} />
        </IconButton>
        {children}
        <span className="flex-1" />
        {stop && (
          <button
            type="button"
            aria-label="Stop"
            title="Stop all agents of this chat; what is done is kept"
            onClick={stop}
            className="flex size-8 items-center justify-center rounded-full border border-line text-text hover:bg-hover"
          >
            <Square size={12} fill="currentColor" />
          </button>
        )}
        <button
          type="button"
          aria-label="Send"
          title="Send (Enter)"
          disabled={!text.trim() && files.length === 0}
          onClick={submit}
          className="flex size-8 items-center justify-center rounded-full bg-text text-canvas transition-opacity disabled:opacity-25"
        >
          <ArrowUp size={17} />
        </button>
      </div>
    </div>
  );
}
