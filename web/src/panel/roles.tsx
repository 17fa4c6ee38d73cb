// The roles beside a chat.

import { RoleList } from "../pages/rolelist";

export default function RolesPanel() {
  return (
    <div className="h-full overflow-y-auto p-3" tabIndex={0} role="region" aria-label="Roles">
      <RoleList />
    </div>
  );
}
