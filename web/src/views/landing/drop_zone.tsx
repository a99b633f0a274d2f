/** Where a model is dropped, or chosen with the keyboard. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ProgressBar } from "../../components/progress";
import { bytes, count } from "../../components/format";
import { notice, tell } from "../../shell/notice";
import { go, modelAddress } from "../../shell/router";
import { source } from "../../shell/source";
import { chosenFiles, droppedFiles, type DroppedFile } from "./dropped";

interface Sending {
  files: number;
  bytes: number;
  fraction: number;
}

export function DropZone(): JSX.Element {
  const [over, setOver] = useState(false);
  const [sending, setSending] = useState<Sending | null>(null);

  const send = async (collect: () => Promise<DroppedFile[]> | DroppedFile[]) => {
    notice.value = null;
    try {
      const files = await collect();
      if (files.length === 0) return;
      const size = files.reduce((sum, { file }) => sum + file.size, 0);
      setSending({ files: files.length, bytes: size, fraction: 0 });
      const upload = await source.upload(files, (fraction) => setSending({ files: files.length, bytes: size, fraction }));
      const entry = await source.open({ upload });
      go(modelAddress(entry.id));
    } catch (error) {
      tell(error);
    } finally {
      setSending(null);
    }
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const { dataTransfer } = event;
    if (dataTransfer && !sending) void send(() => droppedFiles(dataTransfer));
  };
  return (
    <div
      class={`drop-zone ${over ? "over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      {sending ? (
        <ProgressBar label={`Copying ${count(sending.files, "file")}, ${bytes(sending.bytes)}`} fraction={sending.fraction} />
      ) : (
        <>
          <p class="drop-title">Drop a model here</p>
          <p class="soft">
            SavedModel or TF.js folder, <code>.pb</code>, <code>.keras</code>, <code>.h5</code>, <code>.tflite</code>,
            checkpoint
          </p>
          <div class="flow">
            <FileButton label="Choose a file" onFiles={(list) => void send(() => chosenFiles(list))} />
            <FileButton label="Choose a folder" folder onFiles={(list) => void send(() => chosenFiles(list))} />
          </div>
        </>
      )}
    </div>
  );
}

interface FileButtonProps {
  label: string;
  folder?: boolean;
  onFiles: (files: FileList) => void;
}

function FileButton({ label, folder = false, onFiles }: FileButtonProps): JSX.Element {
  return (
    <label class="file-button">
      {label}
      <input
        type="file"
        class="visually-hidden"
        multiple={!folder}
        {...(folder ? { webkitdirectory: true } : {})}
        onChange={(event) => {
          const { files } = event.currentTarget;
          if (files?.length) onFiles(files);
          event.currentTarget.value = "";
        }}
      />
    </label>
  );
}
