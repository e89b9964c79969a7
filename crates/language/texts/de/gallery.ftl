gallery-search-pictures = Bilder suchen
gallery-search-by-words-or = Nach Wörtern suchen oder nach Feldern wie model:z-image, seed:7, rating>=3, since:7d, -night. / drücken.
gallery-find-pictures-by-word = Bilder nach Wort, Modell, Aussehen oder Datum finden.
gallery-remove-this-condition = Bedingung entfernen
gallery-remove-this-condition-from = Diese Bedingung aus der Suche entfernen.
gallery-show-all = Alle zeigen
gallery-show-every-picture-again = Wieder alle Bilder zeigen.
gallery-order = Sortierung
gallery-order-of-the-pictures = Reihenfolge der Bilder.
gallery-groups = Gruppen
gallery-group-pictures-under-headings = Bilder unter Überschriften gruppieren.
gallery-size-of-the-pictures = Größe der Bilder
gallery-show-fewer-large-pictures = Weniger große oder mehr kleine Bilder zeigen.
gallery-scroll = Scrollen
gallery-scroll-through-the-pictures = Durch die Bilder scrollen.
gallery-select = Markieren
gallery-select-this-picture-with = Dieses Bild markieren. Mit Umschalt alles bis zu ihm, mit Strg zusätzlich zu den anderen.
gallery-select-beside-the-others = Zusätzlich markieren
gallery-add-this-picture-to = Dieses Bild zur Markierung hinzufügen oder daraus entfernen.
gallery-select-what-the-rectangle = Markieren, was das Rechteck berührt.
gallery-select-all = Alle markieren
gallery-select-all-pictures-shown = Alle gezeigten Bilder markieren. Strg+A drücken.
gallery-select-none = Keine markieren
gallery-select-nothing = Die Markierung aufheben.
gallery-large-look = Großansicht
gallery-show-this-picture-large = Dieses Bild groß zeigen oder zum Raster zurückkehren. Leertaste drücken.
gallery-show-this-picture = Dieses Bild zeigen
gallery-show-this-picture-large-2 = Dieses Bild groß zeigen.
gallery-back-to-the-pictures = Zurück zu den Bildern
gallery-go-back-to-all = Zu allen Bildern zurückkehren. Esc drücken.
gallery-move-the-picture = Bild verschieben
gallery-scroll-to-zoom-drag = Scrollen zum Zoomen, ziehen zum Verschieben, Doppelklick für die Originalgröße.
gallery-actual-size = Originalgröße
gallery-show-one-picture-pixel = Ein Bildpixel pro Bildschirmpixel oder das ganze Bild zeigen. Z drücken.
gallery-compare = Vergleichen
gallery-compare-two-pictures-and = Zwei Bilder und ihre Einstellungen vergleichen. C drücken.
gallery-swap = Tauschen
gallery-swap-the-two-pictures = Die beiden Bilder tauschen. X drücken.
gallery-divider = Trennlinie
gallery-drag-or-move-it = Ziehen oder mit den Pfeiltasten bewegen.
gallery-no-stars = Keine Sterne
gallery-remove-the-rating-press = Die Bewertung entfernen. 0 drücken.
gallery-one-star = Ein Stern
gallery-rate-with-one-star = Mit einem Stern bewerten. 1 drücken.
gallery-two-stars = Zwei Sterne
gallery-rate-with-two-stars = Mit zwei Sternen bewerten. 2 drücken.
gallery-three-stars = Drei Sterne
gallery-rate-with-three-stars = Mit drei Sternen bewerten. 3 drücken.
gallery-four-stars = Vier Sterne
gallery-rate-with-four-stars = Mit vier Sternen bewerten. 4 drücken.
gallery-five-stars = Fünf Sterne
gallery-rate-with-five-stars = Mit fünf Sternen bewerten. 5 drücken.
gallery-pick = Auswählen
gallery-mark-as-picked-press = Als ausgewählt kennzeichnen. P drücken.
gallery-reject = Verwerfen
gallery-mark-as-rejected-the = Als verworfen kennzeichnen. Die Datei bleibt erhalten. X drücken.
gallery-no-mark = Kein Zeichen
gallery-remove-the-mark-press = Die Kennzeichnung entfernen. U drücken.
gallery-auto-advance = Auto-Weiter
gallery-go-on-to-the = Nach jedem Stern, Auswählen oder Verwerfen zum nächsten Bild gehen.
gallery-stop-auto-advance = Auto-Weiter beenden
gallery-stay-on-a-picture = Nach einem Stern, Auswählen oder Verwerfen beim Bild bleiben.
gallery-new-tag = Neues Tag
gallery-a-tag-for-these = Ein Tag für diese Bilder. Enter drücken, um es hinzuzufügen.
gallery-add-tag = Tag hinzufügen
gallery-add-this-tag-to = Dieses Tag zu den Bildern hinzufügen.
gallery-remove-tag = Tag entfernen
gallery-remove-this-tag-from = Dieses Tag von den Bildern entfernen.
gallery-note = Notiz
gallery-your-note-about-this = Eine eigene Notiz zu diesem Bild.
gallery-save-the-note = Notiz speichern
gallery-save-this-note-with = Diese Notiz mit dem Bild speichern.
gallery-move-to-the-trash = In den Papierkorb
gallery-move-these-pictures-to = Diese Bilder in den Papierkorb des Systems verschieben. Strg+Z holt sie zurück. Entf drücken.
gallery-bring-back = Zurückholen
gallery-restore-the-pictures-that = Die zuletzt in den Papierkorb verschobenen Bilder wiederherstellen. Strg+Z drücken.
gallery-use-these-settings = Einstellungen nutzen
gallery-show-this-picture-in = Dieses Bild unter „Erstellen“ zeigen und Prompt, Seed und Einstellungen laden. Enter drücken.
gallery-use-this-picture-as = Dieses Bild als Startbild des nächsten verwenden (image to image). I drücken.
gallery-use-as-reference = Als Referenz nutzen
gallery-use-this-picture-as-a-reference = Dieses Bild als Referenz für ein Bearbeitungsmodell verwenden. F drücken.
gallery-use-for-control = Zur Kontrolle nutzen
gallery-use-this-picture-as-the-control = Dieses Bild als Kontrollbild des ControlNet verwenden.
gallery-use-for-a-person = Für eine Person nutzen
gallery-use-photomaker-to-show = Mit PhotoMaker die Person dieses Bildes im nächsten zeigen.
gallery-finish-drafts = Entwürfe vollenden
gallery-run-the-remaining-steps = Die restlichen Schritte jedes markierten Entwurfs ausführen.
gallery-copy-picture = Bild kopieren
gallery-copy-this-picture-to = Dieses Bild ohne seine Einstellungen in die Zwischenablage kopieren. Strg+C drücken.
gallery-copy-this-text-to = Diesen Text in die Zwischenablage kopieren.
gallery-show-in-folder = Im Ordner zeigen
gallery-show-this-pictures-file = Die Datei dieses Bildes im Dateimanager zeigen.
gallery-export = Exportieren…
gallery-export-copies-as-png = Kopien als PNG, JPEG oder WebP exportieren, mit oder ohne Einstellungen. E drücken.
gallery-save-this-search = Diese Suche speichern…
gallery-save-this-search-under = Diese Suche unter einem Namen speichern.
gallery-close-without-changes = Ohne Änderungen schließen.
gallery-choose-a-folder = Ordner wählen…
gallery-choose-the-folder-for = Den Ordner für die Kopien wählen. Vorhandene Dateien werden nicht ersetzt.
gallery-save = Speichern
gallery-save-this-search-under-this-name = Diese Suche unter diesem Namen speichern.
gallery-delete-this-search = Diese Suche löschen
gallery-delete-this-saved-search = Diese gespeicherte Suche löschen. Die Bilder bleiben unverändert.
gallery-add-a-folder = Ordner hinzufügen…
gallery-show-the-pictures-of = Die Bilder eines weiteren Ordners zeigen, etwa die Ausgaben eines anderen Programms. Atelier ändert darin nie etwas.
gallery-add-to-the-gallery = Zur Galerie hinzufügen
gallery-copy-these-pictures-into = Diese Bilder in den eigenen Bilderordner kopieren. Ordner werden an ihrem Ort gezeigt.
gallery-stop-showing-this-folder = Ordner nicht mehr zeigen
gallery-stop-showing-the-pictures = Die Bilder dieses Ordners nicht mehr zeigen. Seine Dateien bleiben unverändert.
gallery-look-again = Erneut suchen
gallery-scan-all-folders-for = Alle Ordner nach neuen, verschobenen und fehlenden Bildern durchsuchen.
gallery-select-a-picture-first = Zuerst ein Bild markieren.
gallery-everything-is-shown = Alles wird gezeigt.
gallery-there-is-no-picture = Es gibt kein Bild.
gallery-nothing-is-selected = Nichts ist markiert.
gallery-no-draft-is-selected = Kein Entwurf ist markiert. Für Entwürfe „Früh anhalten“ einschalten.
gallery-auto-advance-is-on = Auto-Weiter ist an.
gallery-auto-advance-is-off = Auto-Weiter ist aus.
gallery-type-a-word-first = Zuerst ein Wort eingeben.
gallery-all-pictures-are-shown = Alle Bilder werden gezeigt.
gallery-show-a-picture-large = Zuerst ein Bild groß zeigen.
gallery-select-two-pictures-first = Zuerst zwei Bilder markieren.
gallery-select-two-pictures-and = Zuerst zwei Bilder markieren und vergleichen.
gallery-nothing-was-changed = Nichts wurde geändert.
gallery-nothing-went-to-the = Nichts wurde in den Papierkorb verschoben.
gallery-search-for-something-first = Zuerst nach etwas suchen.
gallery-load-prompt-seed-and = Prompt, Seed und alle Einstellungen dieses Bildes laden. Enter drücken.
gallery-load-the-prompt-and = Den Prompt und den Negativ-Prompt dieses Bildes laden. T drücken.
gallery-load-the-seed-of = Den Seed dieses Bildes laden. S drücken.
gallery-load-all-settings-of = Alle Einstellungen dieses Bildes außer dem Seed laden, für ein ähnliches Bild. R drücken.
gallery-load-width-and-height = Breite und Höhe dieses Bildes laden. D drücken.
gallery-load-the-model-of = Das Modell dieses Bildes laden. M drücken.
gallery-slider = Schieber
gallery-side-by-side = Nebeneinander
gallery-blink = Wechsel
gallery-difference = Differenz
gallery-one-picture-over-the = Ein Bild über dem anderen. Die Trennlinie ziehen oder mit den Pfeiltasten bewegen.
gallery-side-by-side-with = Nebeneinander, mit demselben Zoom und Ausschnitt.
gallery-alternate-in-the-same = Abwechselnd an derselben Stelle. B halten, um das andere Bild zu sehen.
gallery-difference-black-where-both = Differenz: schwarz, wo beide gleich sind, heller, wo sie sich stärker unterscheiden.
gallery-prompt = Prompt
gallery-negative-prompt = Negativ-Prompt
gallery-model = Modell
gallery-loras = LoRAs
gallery-seed = Seed
gallery-steps = Schritte
gallery-guidance = Guidance
gallery-sampler = Sampler
gallery-scheduler = Scheduler
gallery-made-with = Erstellt mit
gallery-made-on = Erzeugt auf
gallery-this-picture-is-hidden = Dieses Bild ist durch die aktuelle Suche verborgen. Zuerst alle zeigen.
gallery-choose-the-folder-for-the-copies = Ordner für die Kopien wählen
gallery-show-the-pictures-of-a-folder = Bilder eines Ordners zeigen
gallery-no-folder-for-the = Auf diesem System ist kein Ordner für die Galerie bekannt. ATELIER_HOME auf einen Ordner setzen.
gallery-is-missing-reconnect-its = { $path } fehlt. Den Ordner oder das Laufwerk wieder verbinden, dann erneut suchen.
gallery-looking-through = durchsuche { $folder } ({ $count })
gallery-1-picture-was-moved = 1 Bild wurde in den Papierkorb verschoben. Strg+Z holt es zurück.
gallery-pictures-were-moved-to =
    { $count ->
        [one] { $count } Bild wurde in den Papierkorb verschoben. Strg+Z holt es zurück.
       *[other] { $count } Bilder wurden in den Papierkorb verschoben. Strg+Z holt sie zurück.
    }
gallery-1-picture-was-restored = 1 Bild wurde wiederhergestellt.
gallery-pictures-were-restored =
    { $count ->
        [one] { $count } Bild wurde wiederhergestellt.
       *[other] { $count } Bilder wurden wiederhergestellt.
    }
gallery-this-file-contains-no = Diese Datei enthält keine Einstellungen.
gallery-this-system-has-no = Dieses System hat keinen Dateidialog. `atelier gallery` auf der Kommandozeile leistet dasselbe.
gallery-missing = Fehlt
gallery-damaged = Beschädigt
gallery-in-the-trash = Im Papierkorb
gallery-picture = Bild { $index }
gallery-by = { $width } mal { $height }
gallery-1-star = 1 Stern
gallery-stars =
    { $stars ->
        [one] { $stars } Stern
       *[other] { $stars } Sterne
    }
gallery-picked = ausgewählt
gallery-rejected = verworfen
gallery-missing-2 = fehlt
gallery-in-the-trash-2 = im Papierkorb
gallery-damaged-2 = beschädigt
gallery-reading-both-pictures = Beide Bilder werden gelesen…
gallery-two-pictures-under-a = Zwei Bilder mit Trennlinie
gallery-first = Erstes
gallery-second = Zweites
gallery-two-pictures-in-turn = Zwei Bilder im Wechsel
gallery-difference-of-two-pictures = Differenz zweier Bilder
gallery-comparing-pixels = Pixel werden verglichen…
gallery-this-picture = Dieses Bild
gallery-all-but-the-seed = Alles außer Seed
gallery-start-from-it = Als Startbild
gallery-reference = Referenz
gallery-copy = { $name } kopieren
gallery-not-understood = Nicht verstanden: { $value }
gallery-tags = Tags
gallery-add-a-tag = Tag hinzufügen
gallery-a-note-of-your = Eine eigene Notiz
gallery-file = Datei
gallery-copy-path = Pfad kopieren
gallery-made-from = Erstellt aus
gallery-used-for = Genutzt für
gallery-same-batch = Gleicher Stapel
gallery-and-more =
    { $value ->
        [one] und { $value } weiteres
       *[other] und { $value } weitere
    }
gallery-picture-2 = { $words }: Bild { $id }
gallery-gallery-dialog = Galerie-Dialog
gallery-save-this-search-2 = Diese Suche speichern
gallery-its-name = Name
gallery-name-of-the-search = Name der Suche
gallery-export-this-picture = Dieses Bild exportieren
gallery-export-pictures =
    { $count ->
        [one] { $count } Bild exportieren
       *[other] { $count } Bilder exportieren
    }
gallery-lossless-the-largest-files = Verlustfrei. Die größten Dateien.
gallery-small-files-that-every = Kleine Dateien, die jedes Programm zeigen kann. Leicht verlustbehaftet.
gallery-lossless-smaller-than-png = Verlustfrei, kleiner als PNG.
gallery-quality = Qualität
gallery-quality-1-to-100 = Qualität, 1 bis 100. 90 ist kaum vom Original zu unterscheiden.
gallery-as-it-is = Wie es ist
gallery-longest-side = Längste Seite
gallery-reduce-larger-pictures = Größere Bilder verkleinern
gallery-reduce-larger-pictures-to = Größere Bilder auf diese längste Seite verkleinern. Kleinere bleiben, wie sie sind.
gallery-name = Name
gallery-name-of-the-copies = Name der Kopien
gallery-name-of-the-copies-several = Name der Kopien. Mehrere werden nummeriert.
gallery-that-of-each-picture = Der Name des Bildes
gallery-export-now = Exportieren
gallery-write-the-copies-to = Die Kopien in diesen Ordner schreiben. Vorhandene Dateien werden nicht ersetzt.
gallery-type-the-whole-path = Den ganzen Pfad eines Ordners eingeben.
gallery-folder-label = Ordner
gallery-folder-of-the-copies = Ordner der Kopien
gallery-without-settings = Ohne Einstellungen
gallery-remove-prompt-seed-model = Prompt, Seed, Modell und alle übrigen Metadaten aus den Kopien entfernen.
gallery-the-settings-are-stored = Die Einstellungen werden als Text gespeichert, den andere Programme lesen können.
gallery-looking-for-pictures = Bilder werden gesucht…
gallery-1-picture = 1 Bild
gallery-of-pictures =
    { $total ->
        [one] { $shown } von { $total } Bild
       *[other] { $shown } von { $total } Bildern
    }
gallery-selected = { $words } · { $selection } markiert
gallery-looking-for-pictures-2 = Bilder werden gesucht
gallery-this-takes-a-moment = Dies dauert einen Moment.
gallery-no-pictures-yet = Noch keine Bilder
gallery-your-pictures-appear-here = Die eigenen Bilder erscheinen hier mit ihren Einstellungen. Auch andere Ordner lassen sich hinzufügen.
gallery-no-picture-matches = Kein Bild passt
gallery-use-fewer-words-or = Weniger Wörter verwenden oder eine Bedingung entfernen.
gallery-make-the-first-one = Das erste erzeugen
gallery-picture-by-pixels = Bild, { $width } mal { $height } Pixel
gallery-of = { $place } von { $ids } · { $name }
gallery-both-were-made-with = Beide wurden mit denselben Einstellungen erstellt.
gallery-setting = Einstellung
gallery-search-fields-conditions-that = Suchfelder: Bedingungen, die sich hinzufügen lassen, jede mit einem Beispiel.
gallery-add-a-condition = Bedingung hinzufügen
gallery-all-fields = Alle Felder
gallery-add-to-the-search = { $text } zur Suche hinzufügen: { $words }.
gallery-none = Keine
gallery-newest-first = Neueste zuerst
gallery-oldest-first = Älteste zuerst
gallery-best-rating-first = Beste Bewertung zuerst
gallery-by-file-name = Nach Dateiname
gallery-largest-first = Größte zuerst
gallery-as-on-the-board = Wie auf dem Board
gallery-by-prompt = Nach Prompt
gallery-by-day = Nach Datum
gallery-by-model = Nach Modell
gallery-by-batch = Nach Stapel
gallery-saved-searches = Gespeicherte Suchen
gallery-folders = Ordner
gallery-at-an-unknown-time = zu unbekannter Zeit
gallery-three-stars-and-more = Drei Sterne und mehr
gallery-picked-2 = Ausgewählt
gallery-of-the-last-seven = Aus den letzten sieben Tagen
gallery-seeds-1-to-9 = Seeds 1 bis 9
gallery-not-rejected = Nicht verworfen
gallery-pictures =
    { $shown ->
        [one] { $shown } Bild
       *[other] { $shown } Bilder
    }
gallery-pictures-2 =
    { $count ->
        [one] { $count } Bild
       *[other] { $count } Bilder
    }
gallery-pictures-saved-in-other =
    { $count ->
        [one] { $count } Bild in anderen Ordnern gespeichert
       *[other] { $count } Bilder in anderen Ordnern gespeichert
    }
gallery-they-were-saved-by-name = Sie wurden unter einem Namen außerhalb der Ordner oben gespeichert. Die Galerie zeigt sie, und sonst nichts aus jenen Ordnern.
gallery-made-for = Erzeugt für { $owner }
gallery-or-begin-with-one-of = Oder hiermit beginnen:
gallery-programs-on-this-computer = Programme auf diesem Computer
gallery-shared = Geteilt: für andere erzeugt
gallery-not-shared = Nicht für andere erzeugt
