vision-its-result-is-not-a-picture = das Ergebnis ist kein Bild
vision-its-result-has-the = das Ergebnis hat die Form { $shape }
vision-choose-u2net-isnet-birefnet = u2net, isnet, birefnet, modnet oder selfie wählen
vision-its-result-is-not-a-table = das Ergebnis ist keine Tabelle
vision-could-not-be-run = { $path } konnte nicht ausgeführt werden: { $reason }; ein anderes Modell wählen
vision-does-not-choose-another = { $path } eignet sich nicht dafür ({ $purpose }): { $reason }; ein anderes Modell wählen
vision-is-not-an-onnx = { $path } ist kein ONNX-Modell, das Atelier ausführen kann ({ $reason }); eine andere Datei wählen
vision-is-larger-than-mib = { $path } ist größer als { $value } MiB; ein Modell zum Freistellen oder Erkennen wählen
vision-could-not-be-read = { $path } konnte nicht gelesen werden: { $source }; prüfen, ob die Datei existiert und lesbar ist
vision-its-input-has-x = die Eingabe hat { $width } x { $height } Pixel
vision-its-input-has-channels = { $channels ->
        [one] die Eingabe hat { $channels } Kanal, ein Bild hat 3
       *[other] die Eingabe hat { $channels } Kanäle, ein Bild hat 3
    }
vision-its-input-has-dimensions = { $shape ->
        [one] die Eingabe hat { $shape } Dimension, ein Bild hat 4
       *[other] die Eingabe hat { $shape } Dimensionen, ein Bild hat 4
    }
vision-its-input-has-no = die Eingabe hat keine Form
vision-it-is-quantised-to = das Modell ist auf 8 Bit quantisiert; nötig ist seine Form mit 16 oder 32 Bit
vision-its-weights-lie-in-another-file = seine Gewichte liegen in einer anderen Datei, und es wird allein gelesen
vision-it-has-too-few-results = es hat zu wenige Ergebnisse
