index-the-name-of-a =
    { $kind ->
        [tag] Der Name eines Tags hat 1 bis { $max_name } Zeichen und keine Zeilenumbrüche.
        [board] Der Name eines Boards hat 1 bis { $max_name } Zeichen und keine Zeilenumbrüche.
       *[other] Der Name einer gespeicherten Suche hat 1 bis { $max_name } Zeichen und keine Zeilenumbrüche.
    }
index-the-index-of-your = Der Index der Bilder war beschädigt und wird neu aufgebaut; die alte Datei bleibt als { $aside } erhalten. Wartende Aufträge sind noch in der Warteschlange.
index-its-disk-is-full = sein Datenträger ist voll, schreibgeschützt oder getrennt ({ $error })
index-its-disk-is-write = sein Datenträger ist schreibgeschützt
index-its-disk-is-full-2 = sein Datenträger ist voll
index-has-characters-that-cannot = { $path } hat Zeichen, die sich nicht speichern lassen; umbenennen
index-is-damaged-and-another = { $path } ist beschädigt, und ein anderes Atelier hat die Datei geöffnet; jenes schließen, dann erneut versuchen
index-was-written-by-a = { $path } stammt von einer neueren Version von Atelier und bleibt daher, wie es ist; zur Nutzung dieses Atelier aktualisieren
index-could-not-be-used = { $path } konnte nicht genutzt werden: { $source }
index-the-index-of-your-pictures-could = der Index der Bilder konnte nicht genutzt werden: { $reason }
index-a-named-already-exists =
    { $kind ->
        [tag] Es gibt schon ein Tag namens „{ $name }“; einen anderen Namen wählen.
        [board] Es gibt schon ein Board namens „{ $name }“; einen anderen Namen wählen.
       *[other] Es gibt schon eine gespeicherte Suche namens „{ $name }“; einen anderen Namen wählen.
    }
index-there-is-no-board = Es gibt kein Board namens „{ $name }“; es zuerst anlegen.
index-this-note-is-too = Diese Notiz ist zu lang; auf { $max_note } Zeichen kürzen.
index-is-not-a-rating = { $rating } ist keine Bewertung; Bewertungen reichen von 0 (keine) bis { $best_rating }.
index-the-name-of-the = der Name der Datei ist nicht in Unicode
index-could-not-be-rebuilt = { $path } konnte nicht neu aufgebaut werden; die Datei löschen.
index-the-picture-could-not = Das Bild konnte nicht zurückgeholt werden: { $error }.
index-the-picture-is-no = Das Bild ist nicht mehr im Papierkorb.
index-the-trash-could-not = Der Papierkorb konnte nicht gelesen werden: { $error }.
index-every-name-in-its = jeder Name in seinem Ordner .trash ist vergeben
index-another-file-with-this = Eine andere Datei hat jetzt diesen Namen; sie zuerst umbenennen.
index-the-file-was-not = Die Datei wurde nicht verschoben: { $why }; { $error }.
index-is-not-a-time = „{ $value }“ ist keine Zeit; erlaubt sind etwa 12h, 7d, 2w, 3m, 1y, today, yesterday oder 2026-11-20.
index-is-not-a-number = „{ $value }“ ist keine Zahl; eine schreiben oder zwei mit .. dazwischen, etwa 1.5..4.
index-is-not-a-whole = „{ $value }“ ist keine ganze Zahl; eine schreiben oder zwei mit .. dazwischen, etwa 1..9.
index-there-is-nothing-between = Zwischen den Anführungszeichen steht nichts; dort ein Wort schreiben.
index-is-not-a-value = „{ $value }“ ist kein Wert dieses Felds; einen von diesen schreiben: { $value_2 }.
index-has-no-letters-or = „{ $name }“ hat weder Buchstaben noch Ziffern; einen Teil des Namens schreiben.
index-this-field-cannot-be = Dieses Feld lässt sich nicht mit < oder > vergleichen; vor „{ $value }“ einen Doppelpunkt schreiben.
index-needs-a-value-as = „{ $name }“ braucht einen Wert, wie in { $example }.
index-is-not-a-search = „{ $name }“ ist kein Suchfeld; um nach diesem Text zu suchen, ihn in Anführungszeichen setzen.
index-a-search-has-at = Eine Suche hat höchstens { $max_terms } Begriffe und { $max_bytes } Zeichen; sie kürzen.
index-this-folder-is-not = Dieser Ordner ist nicht in der Galerie; ihn zuerst hinzufügen.
index-field-model = mit diesem Modell erzeugt, nach Name, Datei oder Hash
index-field-lora = mit diesem LoRA erzeugt, nach Name oder Hash
index-field-seed = mit diesem Seed oder einem zwischen zweien
index-field-rating = mit 0 bis 5 bewertet
index-field-flag = ausgewählt, verworfen oder keines von beiden: pick, reject, none
index-field-tag = mit diesem Tag; tag:port* für alle, die mit port beginnen
index-field-board = auf diesem Board
index-field-owner = über das Netzwerk für diese Person erzeugt, nach Name
index-field-since = seitdem erzeugt: 12h, 7d, 2w, 3m, 1y, today, yesterday, 2026-11-20
index-field-before = davor erzeugt
index-field-on = an diesem Tag oder in diesem Monat oder Jahr erzeugt
index-field-prompt = mit diesen Wörtern im Prompt
index-field-negative = mit diesen Wörtern im Negativ-Prompt
index-field-note = mit diesen Wörtern in der eigenen Notiz
index-field-name = mit diesen Wörtern im Dateinamen
index-field-folder = in Ordnern, deren Pfad dies enthält
index-field-tool = mit diesem Programm erzeugt
index-field-sampler = mit diesem Sampler erzeugt
index-field-scheduler = mit diesem Scheduler erzeugt
index-field-steps = Anzahl der Schritte
index-field-guidance = Guidance (CFG-Skala)
index-field-width = Breite in Pixeln
index-field-height = Höhe in Pixeln
index-field-size = genaue Größe in Pixeln
index-field-shape = portrait (hoch), landscape (quer) oder square (quadratisch)
index-field-is = here (vorhanden), missing (fehlend), trashed (im Papierkorb) oder damaged (beschädigt); kept, candidate oder import
index-field-has = mit note, tag, board, lora, recipe, parent oder owner
index-field-batch = des Auftrags mit dieser Nummer
index-is-not-a-date = „{ $value }“ ist kein Datum; einen Tag, einen Monat oder ein Jahr angeben, etwa 2026-11-20 oder 2026-11.
index-is-not-a-size = „{ $value }“ ist keine Größe; Breite x Höhe angeben, etwa 1024x1536.
index-atelier-crashed-twice = Atelier ist hierbei zweimal abgestürzt. Der Auftrag wartet, bis er fortgesetzt wird.
