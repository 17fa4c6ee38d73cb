// Keeps a fault in one part of the page from taking the rest with it. A part
// that cannot be loaded is usually one of an older version: the server was
// updated, and the page loads itself anew, once.

import { Component, type ReactNode } from "react";
import { Failure } from "./kit";

const key = "cadre-reloaded";
const again = 60_000;

const isMissing = (err: unknown) =>
  err instanceof Error && /dynamically imported module|Importing a module script failed|error loading/i.test(err.message);

export class Boundary extends Component<{ children: ReactNode; name: string }, { error: string }> {
  override state = { error: "" };

  static getDerivedStateFromError(err: unknown): { error: string } {
    return { error: err instanceof Error ? err.message : String(err) };
  }

  override componentDidCatch(err: unknown): void {
    const last = Number(sessionStorage.getItem(key) ?? 0);
    if (!isMissing(err) || Date.now() - last < again) return;
    sessionStorage.setItem(key, String(Date.now()));
    location.reload();
  }

  override componentDidUpdate(before: { name: string }): void {
    if (before.name !== this.props.name && this.state.error) this.setState({ error: "" });
  }

  override render(): ReactNode {
    if (!this.state.error) return this.props.children;
    return (
      <div className="flex-1">
        <Failure
          text={`This part of the page failed: ${this.state.error}. Nothing of your work is lost.`}
          retry={() => this.setState({ error: "" })}
        />
      </div>
    );
  }
}
