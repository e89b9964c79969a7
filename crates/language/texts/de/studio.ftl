studio-atelier-crashed-while-reading = Atelier ist beim Lesen dieser Datei abgestürzt
studio-pictures-are-ready =
    { $pictures ->
        [one] { $pictures } Bild ist fertig
       *[other] { $pictures } Bilder sind fertig
    }
studio-a-picture-is-ready = Ein Bild ist fertig
studio-pictures-are-ready-the =
    { $pictures ->
        [one] { $pictures } Bild ist fertig; die Warteschlange ist leer
       *[other] { $pictures } Bilder sind fertig; die Warteschlange ist leer
    }
studio-your-picture-is-ready = Das Bild ist fertig
studio-a-picture-failed = Ein Bild schlug fehl
studio-it-is-not-a-sheet = es ist kein Bogen
studio-only-models-diffusion-modules = nur Modelle, Diffusionsmodule und Text-Encoder werden umgewandelt
studio-it-takes-little-memory = braucht wenig Speicher, und eine kleinere Kopie würde nur Qualität kosten
studio-is = { $path } wurde als { $described } erkannt: { $why }.
studio-the-copy-would-not = Die Kopie wäre nicht das Modell, aus dem sie entstand.
studio-the-copy-was-stopped = Das Kopieren wurde abgebrochen. Nichts davon bleibt zurück.
studio-the-copy-could-not = Die Kopie konnte nicht geschrieben werden: { $reason }.
studio-the-copy-needs-and = Die Kopie braucht { $needed }, und auf ihrem Datenträger sind { $free } frei.
studio-is-there-already-choose = { $reason } gibt es schon. Mit -o einen anderen Namen wählen oder jene Datei verschieben.
studio-the-copy-is-a = Die Kopie ist eine GGUF-Datei: Ihr Name muss auf .gguf enden.
studio-the-picture-is-saved = Das Bild ist gespeichert, aber noch nicht in der Galerie: { $error }. Zum Hinzufügen seinen Ordner durchsuchen.
studio-they-name-no-version = sie nennen keine Version
studio-the-file-has-too = die Datei hat zu viele Werte für Einstellungen
studio-the-window-starts-with = Das Fenster startet mit den Standardeinstellungen und behält eine Kopie dieser Datei als .bad. Die Datei reparieren oder die Standardwerte behalten.
studio-atelier-leaves-the-file = Atelier lässt die Datei, wie sie ist, startet mit den Standardeinstellungen und speichert keine. Die Datei lesbar machen und Atelier neu starten.
studio-this-atelier-leaves-the = Dieses Atelier lässt die Datei, wie sie ist, startet mit den Standardeinstellungen und speichert keine. Für die eigenen Einstellungen die neuere Version starten.
studio-your-settings-in-are = Die Einstellungen in { $path } sind beschädigt: { $reason }.
studio-your-settings-in-cannot = Die Einstellungen in { $path } sind jetzt nicht lesbar: { $source }.
studio-your-settings-in-were = Die Einstellungen in { $path } stammen von einem neueren Atelier (Version { $version } der Datei; dieses kennt { $version_2 }).
studio-is-too-large-for = ist zu groß für eine Liste von Tags
studio-the-first-names-are = die ersten { $max_tags } Namen werden gelesen
studio-the-first-files-of = Die ersten { $max_files } Dateien mit Tags werden gelesen.
studio-choose-a-smaller-model = Ein kleineres Modell wählen.
studio-the-model-was-not =
    { $minutes ->
        [one] Das Modell war nicht innerhalb von { $minutes } Minute bereit.
       *[other] Das Modell war nicht innerhalb von { $minutes } Minuten bereit.
    }
studio-cancelled = Abgebrochen.
studio-the-model-could-not = Das Modell konnte nicht gestartet werden: { $error }.
studio-choose-another-model = Ein anderes Modell wählen.
studio-the-model-needed-more = Das Modell brauchte mehr Speicher, als da ist, oder ist abgestürzt.
studio-the-free-space-of = Der freie Platz von { $shown } ist nicht bekannt: { $error }.
studio-free-some-space-on = Auf diesem Datenträger Platz schaffen oder in den Einstellungen einen anderen Ordner wählen.
studio-the-disk-of-is = Der Datenträger von { $shown } ist fast voll: { $free } sind frei.
studio-free-some-space-on-that-disk = Auf diesem Datenträger Platz schaffen.
studio-the-disk-of-is-full-are = Der Datenträger von { $shown } ist voll: { $free } sind frei.
studio-the-folder-is-created = {" "}Der Ordner wird angelegt, sobald er gebraucht wird.
studio-is-not-writable = { $shown } ist nicht beschreibbar: { $error }.
studio-change-the-permissions-or = Die Zugriffsrechte ändern oder in den Einstellungen einen anderen Ordner wählen.
studio-is-a-file-where = { $shown } ist eine Datei; dort sollte ein Ordner sein.
studio-rename-or-move-that = Jene Datei umbenennen oder verschieben oder in den Einstellungen einen anderen Ordner wählen.
studio-the-checksums-of-files =
    { $right ->
        [one] { $id }: Die Prüfsumme von { $right } Datei stimmt.
       *[other] { $id }: Die Prüfsummen von { $right } Dateien stimmen.
    }
studio-a-valid-header =
    { $whole_2 ->
       *[other] { $whole ->
            [one] { $whole } Datei hat einen gültigen Header.
           *[other] { $whole } Dateien haben einen gültigen Header.
        }
    }
studio-list-them-with-atelier = Auflisten mit: atelier models list.
studio-more-files-are-damaged =
    { $value ->
        [one] { $value } weitere Datei ist beschädigt.
       *[other] { $value } weitere Dateien sind beschädigt.
    }
studio-checksums-were-not-verified = Prüfsummen wurden nicht geprüft; --sums prüft die Prüfsummen heruntergeladener Modelle.
studio-reinstall-atelier-to-restore = Atelier neu installieren, um das eingebaute Modell wiederherzustellen; andere Modelle funktionieren ohne es.
studio-is-readable = { $path } ist lesbar.
studio-no-longer-exists = { $path } existiert nicht mehr.
studio-restore-the-file-or = Die Datei wiederherstellen oder in der Ansicht „Erstellen“ eine andere wählen.
studio-does-not-exist = { $folder } existiert nicht.
studio-connect-its-disk-or = Den Datenträger verbinden oder den Ordner in der Ansicht „Modelle“ entfernen.
studio-exists = { $kept } existiert.
studio-this-file-holds-settings = Diese Datei enthält Einstellungen, die nicht gelesen werden konnten. Wenn sie nicht mehr gebraucht werden, die Datei löschen.
studio-is-readable-2 = { $settings_file } ist lesbar.
studio-no-settings-file-yet = Noch keine Einstellungsdatei; Standardwerte werden genutzt.
studio-start-atelier-from-a = Atelier in einer Desktopsitzung starten; `atelier generate` läuft ohne Bildschirm.
studio-no-display-is-available = Kein Bildschirm ist verfügbar; das Fenster kann nicht geöffnet werden.
studio-a-display-is-available = Ein Bildschirm ist verfügbar.
studio-no-gpu-is-used = Keine GPU wird genutzt, nur { $all }.
studio-generating-works-on-the = Erzeugen funktioniert auch auf der CPU, aber langsamer. Hat dieser Computer eine GPU, ihren Treiber installieren.
studio-reinstall-atelier = Atelier neu installieren.
studio-the-engine-found-no = Die Engine fand keine Geräte.
studio-check-your-graphics-driver = Den Grafiktreiber prüfen, dann die Prüfung wiederholen.
studio-atelier-with = Atelier { $version } mit { $version_2 }.
studio-pictures-were-exported-to =
    { $count ->
        [one] { $count } Bild wurde nach { $folder } exportiert.
       *[other] { $count } Bilder wurden nach { $folder } exportiert.
    }
studio-1-picture-was-exported = 1 Bild wurde nach { $folder } exportiert.
studio-in-some-copies = In manchen Kopien: { $losses }.
studio-no-files = Keine Dateien
studio-there-are-too-many = es gibt zu viele Stile mit diesem Namen
studio-failed =
    { $failures ->
        [one] { $failures } Kopie ist fehlgeschlagen: { $error }
       *[other] { $failures } Kopien sind fehlgeschlagen: { $error }
    }
studio-the-file-is-too-large = die Datei ist zu groß für ein Bild
studio-this-picture-is-no = Dieses Bild ist nicht mehr in der Galerie.
studio-atelier-crashed-while-reading-the-file = Atelier ist beim Lesen von { $path }{ $others } abgestürzt. Die Datei ist als beschädigt gekennzeichnet und wird übersprungen, bis sie sich ändert; sie ersetzen oder löschen.
studio-and-other-pictures = {" "}{ $count ->
        [one] und { $count } weiterem Bild
       *[other] und { $count } weiteren Bildern
    }
studio-and-another-picture = {" "}und einem weiteren Bild
studio-the-index-of-your = Der Index der Bilder ist beschädigt. Atelier baut ihn beim nächsten Start neu auf; Bilder und Kennzeichnungen gehen nicht verloren.
studio-atelier-tries-again-automatically = {"."} Atelier versucht es von selbst erneut.
studio-pictures-were-added-to =
    { $added ->
        [one] { $added } Bild wurde zur Galerie hinzugefügt.
       *[other] { $added } Bilder wurden zur Galerie hinzugefügt.
    }
studio-1-picture-was-added = 1 Bild wurde zur Galerie hinzugefügt.
studio-the-folder-does-not = Der Ordner { $folder } existiert nicht.
studio-the-same-applies-to = {" "}{ $value ->
        [one] Dasselbe gilt für { $value } weiteres.
       *[other] Dasselbe gilt für { $value } weitere.
    }
studio-your-marks-cannot-be = Die Kennzeichnungen können nicht gespeichert werden: { $error }. Sie bleiben im Arbeitsspeicher und werden gespeichert, sobald der Datenträger beschreibbar ist.
studio-the-gallery-cannot-be = Die Galerie kann nicht geöffnet werden: { $error }. Die Bilder sind in { $pictures_folder }.
studio-it-names-a-file = nennt eine Datei auf eine Weise, wie keine Datei heißt
studio-it-names-too-many = nennt zu viele Dateien
studio-more-bytes-follow-it = weitere Bytes folgen
studio-it-is-cut-short = vorzeitig zu Ende
studio-it-is-too-long = zu lang
studio-it-does-not-start = beginnt nicht als Nachricht
studio-does-not-lead-to = { $text } führt nicht zu einer Datei. Die URL einer Datei oder eines Repositorys auf Hugging Face einfügen.
studio-is-not-a-file = { $path } ist weder Datei noch Ordner noch Link.
studio-nothing-was-added-atelier = Nichts wurde hinzugefügt. Atelier weiß nicht, wozu { $name } dient.
studio-nothing-was-added-is = Nichts wurde hinzugefügt. { $name } ist ein Pickle. { $pickle }
studio-nothing-was-added = Nichts wurde hinzugefügt. { $advice }
studio-is-not-a-model-file = { $name } ist keine Modelldatei. Den Ordner mit den Modellen hinzufügen.
studio-the-token-could-not = Das Token konnte nicht gespeichert werden: { $error }. Es wird genutzt, bis Atelier geschlossen wird.
studio-the-token-could-not-be-saved = Das Token konnte nicht gespeichert werden. Erneut versuchen.
studio-is-used-in-place = { $folder } wird an seinem Ort genutzt. Atelier ändert in diesem Ordner nie etwas.
studio-is-already-in-the = { $path } ist bereits in der Bibliothek.
studio-was-added-to-the = { $name } wurde zu den Downloads hinzugefügt.
studio-the-file-name-of = Der Dateiname dieses Links ist auf diesem Datenträger nicht erlaubt.
studio-this-file-name-is = Dieser Dateiname ist auf diesem Datenträger nicht erlaubt.
studio-this-model-no-longer = Dieses Modell existiert nicht mehr.
studio-downloads-are-unavailable-see = Downloads sind nicht verfügbar; der Grund steht unter „Downloads“.
studio-everything-else-works = { $error } Alles andere funktioniert.
studio-the-header-is-valid = der Header ist gültig; keine Prüfsumme ist veröffentlicht
studio-is-in-the-trash = { $name } ist im Papierkorb: { $bytes }.
studio-most-models-of-this = Die meisten Modelle dieser Art brauchen auch ein VAE.
studio-the-prompt-uses-an = Der Prompt nutzt ein unbekanntes LoRA: dessen Datei hinzufügen oder das Tag entfernen.
studio-write-the-word-img = Das Wort img einmal in den Prompt schreiben, hinter das Wort für die Person: a woman img by a lake.
studio-the-pictures-of-a = Die Bilder einer Person brauchen einen PhotoMaker: seine Datei zum Modell hinzufügen oder die Bilder entfernen.
studio-photomaker-needs-pictures-of = PhotoMaker braucht Bilder einer Person: unter „Vorlagen“ eines hinzufügen oder seine Datei aus dem Modell entfernen.
studio-the-control-picture-needs = Das Kontrollbild braucht ein ControlNet: eines zum Modell hinzufügen oder das Bild entfernen.
studio-write-a-prompt-first = Zuerst einen Prompt schreiben.
studio-add-the-text-encoder = Den Text-Encoder hinzufügen, der zu diesem Modell gehört.
studio-choose-a-model-to = Zum Anfangen ein Modell wählen.
studio-not-readable-in-the = Im Bild nicht lesbar: { $list }. Selbst einstellen.
studio-negative-prompt = Negativ-Prompt
studio-uses-another-noise-generator = { $tool } nutzt einen anderen Rauschgenerator: Derselbe Seed ergibt ein anderes Bild.
studio-the-file-does-not = Die Datei nennt den Rauschgenerator nicht: Derselbe Seed kann ein anderes Bild ergeben.
studio-the-control-picture-is = Das Kontrollbild ist nicht in der Datei.
studio-control-picture = Kontrollbild
studio-from-to-of-the = von { $range } bis { $range_2 } der Schritte
studio-strength = Stärke { $strength }
studio-strength-2 = { $size }, Stärke { $strength }{ $steps }
studio-to = auf { $width } × { $height }
studio-times = { $scale }-fach
studio-steps =
    { $steps ->
        [one] , { $steps } Schritt
       *[other] , { $steps } Schritte
    }
studio-the-picture-was-upscaled = Das Bild wurde mit { $name } hochskaliert: Atelier nutzt dafür Lanczos.
studio-the-start-picture-is = Das Startbild ist nicht in der Datei.
studio-start-picture = Startbild
studio-top-and-bottom = oben und unten
studio-left-and-right = links und rechts
studio-second-seed = Zweiter Seed
studio-amount = { $seed }, Anteil { $amount }
studio-seed-of-choices = Seed der Auswahl
studio-guidance-in-parts-of = Guidance in Teilen der Schritte
studio-skip-layer-guidance = Skip-Layer-Guidance
studio-layers = { $scale }, Schichten { $layers }
studio-sigmas = Sigmas
studio-sampler-arguments = Argumente des Samplers
studio-noise-of-the-sampler = Rauschen des Samplers
studio-upscaled-when-finished = Nach der Fertigstellung hochskaliert
studio-image-guidance = Bild-Guidance
studio-flow-shift = Flow-Shift
studio-atelier-has-no-scheduler = Atelier hat keinen Scheduler namens { $name }: Die eigene Wahl bleibt.
studio-atelier-has-no-sampler = Atelier hat keinen Sampler namens { $name }: Die eigene Wahl bleibt.
studio-distilled-guidance = Destillierte Guidance
studio-negative-prompt-2 = Negativ-Prompt
studio-uses-another-syntax-for = { $tool } schreibt Gewichte im Prompt anders: In Atelier lauten sie (word:1.2).
studio-and-is-a-word = AND ist für das Programm dieses Bildes ein Wort: Hier steht es klein, weil es groß geschrieben Prompts verbindet.
studio-brackets-are-letters = Eckige und offene Klammern und BREAK sind für das Programm dieses Bildes Buchstaben: Hier haben solche Klammern einen Backslash, und break steht klein.
studio-lora-tags-are-letters = Das Programm dieses Bildes wendet durch ein Tag im Prompt kein LoRA an: { $list } ist weggelassen.
studio-the-is-not-in =
    { $kind ->
        [file] Die Datei { $name } ist nicht im Ordner des Bildes.
       *[other] Das Bild { $name } ist nicht im Ordner des Bildes.
    }
studio-is-not-on-this = { $what } { $name } ist nicht auf diesem Computer.
studio-is-not-on-this-machine-has = { $what } { $name } ist nicht auf diesem Computer. { $near } heißt ähnlich.
studio-is-not-on-this-machine-download = { $what } { $name } ist nicht auf diesem Computer. Herunterladbar als { $offered }{ $size }.
studio-check-that-the-folder = Prüfen, ob der Ordner beschreibbar ist, dann erneut versuchen.
studio-the-queue-cannot-be = Die Warteschlange lässt sich nicht speichern: { $error }.
studio-free-some-disk-space = Speicherplatz freigeben, dann die restlichen Aufträge ausführen mit: atelier queue run
studio-free-some-disk-space-unsaved-changes = Speicherplatz freigeben: Nicht gespeicherte Änderungen bleiben bis dahin erhalten, und die Warteschlange läuft von selbst weiter.
studio-restart-atelier-the-index = Atelier neu starten: Der Index wird neu aufgebaut, und wartende Aufträge bleiben erhalten.
studio-the-job-was-not = Der Auftrag wurde nicht hinzugefügt: { $error }.
studio-every-name-for-its = jeder Name für seine Datei ist vergeben
studio-free-some-disk-space-the-picture = Speicherplatz freigeben: Das Bild ist noch im Arbeitsspeicher und wird sobald wie möglich gespeichert.
studio-a-picture-could-not = Ein Bild konnte noch nicht gespeichert werden: Der Datenträger ist nicht beschreibbar.
studio-a-picture-could-not-be-saved = Ein Bild konnte noch nicht gespeichert werden: { $error }.
studio-a-picture-could-not-be-saved-2 = Ein Bild konnte nicht gespeichert werden: { $reason }.
studio-the-picture-is-still = Das Bild ist noch im Arbeitsspeicher: vor dem Schließen von Atelier mit „Speichern unter“ anderswo sichern. Die Warteschlange ist pausiert.
studio-another-atelier-runs-the = Die Warteschlange läuft in einem anderen Atelier
studio-waits-for-the-memory = Wartet auf den Speicher von { $models }
studio-waits-for-the-download = Wartet auf den Download von { $model }
studio-waits-for-free-disk = Wartet auf freien Speicherplatz
studio-waits-for-your-answer = Wartet auf die Antwort zum Auftrag darüber
studio-the-queue-is-paused = Die Warteschlange ist pausiert
studio-waits-for-the-live = Wartet auf das Live-Bild
studio-waits-for-of-higher = Wartet auf { $jobs } mit höherer Priorität
studio-behind = Davor: { $jobs }
studio-next = Als Nächstes
studio-jobs =
    { $count ->
        [one] { $count } Auftrag
       *[other] { $count } Aufträge
    }
studio-1-job = 1 Auftrag
studio-atelier-stopped-during-generation = Atelier hielt beim Erzeugen an
studio-atelier-stopped-at-step = Atelier hielt bei Schritt { $done } von { $total } an
studio-atelier-stopped-at-step-of-of = Atelier hielt bei Schritt { $done } von { $total } an, Bild { $picture } von { $picture_count }
studio-the-queue = Warteschlange: { $error }.
studio-try-again-if-the = Erneut versuchen; bleibt der Fehler, Atelier neu starten.
studio-free-some-disk-space-the-queue = Speicherplatz freigeben: Die Warteschlange läuft dann weiter.
studio-the-queue-works-until = Die Warteschlange läuft, bis Atelier geschlossen wird; auf dem Datenträger ändert sich nichts.
studio-the-queue-works-until-you-close = Die Warteschlange läuft, bis Atelier geschlossen wird, und wird sobald wie möglich gespeichert.
studio-the-queue-cannot-be-saved-to = Die Warteschlange lässt sich nicht speichern: { $error }.
studio-all-your-pictures-are = Alle Bilder sind sicher.
studio-replaced-styles-are-in = {" "}Ersetzte Stile sind im Papierkorb des Systems.
studio-no-style-was-added = Kein Stil wurde hinzugefügt.
studio-there-already = schon vorhanden
studio-styles-were =
    { $what ->
        [added] { $count ->
            [one] { $count } Stil wurde hinzugefügt
           *[other] { $count } Stile wurden hinzugefügt
        }
        [replaced] { $count ->
            [one] { $count } Stil wurde ersetzt
           *[other] { $count } Stile wurden ersetzt
        }
        [skipped] { $count ->
            [one] { $count } Stil wurde übersprungen
           *[other] { $count } Stile wurden übersprungen
        }
       *[other] { $count ->
            [one] { $count } Stil war { $what }
           *[other] { $count } Stile waren { $what }
        }
    }
studio-1-style-was =
    { $what ->
        [added] 1 Stil wurde hinzugefügt
        [replaced] 1 Stil wurde ersetzt
        [skipped] 1 Stil wurde übersprungen
       *[other] 1 Stil war { $what }
    }
studio-the-column-name-of = die Spalte „name“ der styles.csv von A1111 fehlt
studio-the-file-is-too = die Datei ist zu groß für eine Liste von Stilen
studio-the-style-could-not = Der Stil { $path } konnte nicht gelesen werden: { $error }.
studio-the-styles-in-are = Die Stile in { $folder } sind zu lang; ab { $path } werden sie übersprungen.
studio-has-more-than-styles = { $folder } hat mehr als { $max_styles } Stile; die übrigen werden übersprungen.
studio-could-not-be-written = { $path } konnte nicht geschrieben werden: { $source }. Prüfen, ob der Ordner beschreibbar ist und der Datenträger freien Platz hat.
studio-the-style-has-no = Der Stil hat keinen Namen. Einen Namen eingeben.
studio-seed = Seed
studio-loras = LoRAs
studio-sampling = Sampling
studio-size = Größe
studio-model = Modell
studio-prompt = Prompt
studio-could-not-be-read = { $path } konnte nicht gelesen werden: { $error }.
studio-the-style-is-in = Der Stil { $name } ist im Papierkorb des Systems.
studio-is-saved-as-a = { $name } ist als Stil gespeichert.
studio-the-answer-is-older = Die Antwort ist älter als eine frühere und wird daher ignoriert. In einem anderen Netzwerk erneut versuchen oder die Seite von Atelier besuchen.
studio-the-answer-is-not = Die Antwort ist nicht von den Machern von Atelier signiert und wird daher ignoriert. In einem anderen Netzwerk erneut versuchen oder die Seite von Atelier besuchen.
studio-a-version-is-three = eine Version besteht aus drei Zahlen, etwa 1.2.3
studio-the-job-waits-until = Der Auftrag wartet, bis er fortgesetzt wird.
studio-the-list-of-other = Die Liste anderer Studios ist nicht verwendbar: { $error }.
studio-is-no-longer-among = { $name } gehört nicht mehr zu Ihren Studios.
studio-connect-to-it-again = Unter „Andere Studios“ erneut verbinden, dann diesen Auftrag erneut versuchen.
studio-choose-the-picture-again = Das Bild erneut wählen.
studio-nobody-asked-for-it = niemand hat danach gefragt
studio-made-with-other-values = { $studio } hat andere Werte verwendet als verlangt: { $settings }.
studio-it-does-not-say = es nennt keinen Grund.
studio-the-chosen-model-belongs = Das gewählte Modell gehört einem anderen Studio. Dafür ein Modell dieses Computers wählen.
studio-step-count = Schritte
studio-guidance = Guidance
studio-sampler = Sampler
studio-scheduler = Scheduler
studio-seamless = Nahtlos
studio-not-seamless = nein
studio-eta = Eta
studio-clip-skip = CLIP-Skip
studio-upscaled = Vergrößert
studio-noise = Rauschen
